import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Absolute paths of the shared libraries a program or library needs; none for a static one. */
export async function neededLibraries(path: string): Promise<string[]> {
  const listing = await runQuietly('ldd', [path]);
  return [...listing.matchAll(/(?:=>\s+|^\s+)(\/\S+)\s+\(0x/gm)].map((match) => match[1]!);
}

/** What a command prints; empty when it fails or is not there. */
export async function runQuietly(command: string, args: string[]): Promise<string> {
  try {
    return (await run(command, args, { timeout: 10_000, maxBuffer: 1024 * 1024 })).stdout;
  } catch {
    return '';
  }
}
