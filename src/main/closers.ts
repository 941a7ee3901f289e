/** What must be closed again, in the order in which it was opened. */
export type Closers = (() => Promise<void> | void)[];

/** Last opened, first closed; one that fails does not keep the others open. */
export async function closeAll(closers: Closers): Promise<void> {
  for (const close of closers.splice(0).reverse()) await Promise.resolve(close()).catch(() => {});
}
