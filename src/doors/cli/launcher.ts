/**
 * The launcher that started us keeps a channel to us open, which closes however it ends. Then we end too: as SIGTERM
 * would have it where the command listens for that, else at once.
 */
export function endWithLauncher(): void {
  const end = (): void => {
    if (!process.emit('SIGTERM')) process.exit(143);
  };
  // Undefined where we were started in another way, false where it is gone already.
  if (process.connected === false) end();
  process.once('disconnect', end);
  process.channel?.unref();
}
