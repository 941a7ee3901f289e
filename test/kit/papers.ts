import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { runCli } from '../../src/doors/cli/index.ts';

export const root = join(import.meta.dirname, '..', '..');

/** Everything that a person reads: the papers at the top and those in docs/. */
export const papers = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md']
  .concat(readdirSync(join(root, 'docs')).map((name) => join('docs', name)))
  .filter((name) => name.endsWith('.md'))
  .map((name) => ({ name, text: readFileSync(join(root, name), 'utf8') }));

/** The text of one paper. */
export const paper = (name: string): string => papers.find((each) => each.name === name)!.text;

const helps = new Map<string, string>();
/** What `oubliette <path> --help` prints. */
export async function helpOf(path: string[]): Promise<string> {
  const key = path.join(' ');
  if (!helps.has(key)) {
    let out = '';
    const stream = () => new PassThrough().on('data', (chunk: Buffer) => (out += chunk.toString()));
    const output = stream() as unknown as NodeJS.WriteStream;
    const input = new PassThrough().end() as unknown as NodeJS.ReadStream;
    const programs = { version: '0', serve: () => Promise.reject(new Error('not here')) };
    await runCli([...path, '--help'], programs, { input, output, errors: output }, {});
    helps.set(key, out);
  }
  return helps.get(key)!;
}

/** The part of a help text that lists the commands below. */
export const commandsIn = (help: string): string => /\nCommands:\n([^]*?)(\n\n|$)/.exec(help)?.[1] ?? '';
