import { access, constants } from 'node:fs/promises';
import { resolve } from 'node:path';
import { define, type Setting } from '../define.ts';
import { BadUsage, cannotWrite, CommandFailure } from '../failure.ts';
import { runningServer } from '../find-server.ts';

export function addBackup(setting: Setting): void {
  const { programs, env } = setting;
  define(setting, setting.program, {
    usage: 'backup <file>',
    summary: 'write the whole data folder into one file, also while the server runs',
    examples: ['oubliette backup oubliette-$(date +%F).tar.gz'],
    async run(cli, [file]) {
      if (env['OUBLIETTE_URL'])
        throw new CommandFailure(
          'request.invalid',
          'backup reads the data folder itself: run it on the machine of the server, without OUBLIETTE_URL.',
        );
      if (!programs.backup) throw new CommandFailure('not_supported', 'backup is not part of this build.');
      const made = await programs.backup(cli.home, resolve(file)).catch(cannotWrite(file));
      cli.print(
        made,
        () =>
          `Wrote ${made.file}: ${made.files} files, ${made.bytes} bytes. It holds tokens and secrets: keep it private.`,
      );
    },
  });
  define(setting, setting.program, {
    usage: 'restore <file>',
    summary: 'put a backup back; the old data folder is kept beside it',
    examples: ['oubliette restore oubliette-2026-11-15.tar.gz'],
    async run(cli, [file]) {
      const server = await runningServer(cli.home);
      if (server)
        throw new CommandFailure('server.running', `A server (pid ${server.pid}) runs on ${cli.home}. Stop it first.`);
      if (!programs.restore) throw new CommandFailure('not_supported', 'restore is not part of this build.');
      await access(file, constants.R_OK).catch((error: NodeJS.ErrnoException) => {
        throw new BadUsage(`${file} cannot be read (${error.code})`);
      });
      const done = await programs.restore(resolve(file), cli.home).catch(cannotWrite(cli.home));
      cli.print(
        done,
        () =>
          `Restored ${done.files} files to ${cli.home}.${done.previous ? ` What was there is now ${done.previous}` : ''}`,
      );
    },
  });
}
