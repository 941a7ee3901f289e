import { resolve } from 'node:path';
import type { Detail } from '../../schema/index.ts';

/** The command could not do what was asked: exit code 1. */
export class CommandFailure extends Error {
  readonly code: string;
  readonly details: Detail[];
  constructor(code: string, message: string, details: Detail[] = []) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/** The command was not written as it should be: exit code 2. */
export class BadUsage extends Error {}

/** Nothing is left to say; only the exit code matters. */
export class Silent extends Error {
  readonly exitCode: number;
  constructor(exitCode: number) {
    super();
    this.exitCode = exitCode;
  }
}

/** Says which file of the person cannot be written; what is no failure of the file system stays as it is. */
export function cannotWrite(file: string): (error: unknown) => never {
  return (error) => {
    const { code, syscall, path = '' } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    // What failed may lie elsewhere: a backup also reads and writes in the data folder.
    const isElsewhere = path !== '' && !path.startsWith(resolve(file)) && !path.startsWith(file);
    throw new CommandFailure(
      'request.invalid',
      isElsewhere ? `${path} cannot be used (${code})` : `${file} cannot be written (${code})`,
    );
  };
}
