import { applyEdits, modify, parse as parseJsonc, printParseErrorCode, type ParseError } from 'jsonc-parser';
import { parse as parseToml, stringify } from 'smol-toml';
import { CommandFailure } from '../failure.ts';
import type { KnownClient } from './known-clients.ts';

const formattingOptions = { insertSpaces: true, tabSize: 2 };

/** The settings as a value; a file that cannot be read is left alone, with the reason. */
export function readDocument(client: KnownClient, text: string, file: string): Record<string, unknown> {
  try {
    if (client.format === 'toml') return parseToml(text) as Record<string, unknown>;
    const errors: ParseError[] = [];
    const value = text.trim() === '' ? {} : (parseJsonc(text, errors, { allowTrailingComma: true }) as unknown);
    const [first] = errors;
    if (first) throw new Error(`${printParseErrorCode(first.error)} at character ${first.offset}`);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('it is not an object');
    return value as Record<string, unknown>;
  } catch (error) {
    throw new CommandFailure(
      'config.invalid',
      `${file} cannot be read: ${(error as Error).message.split('\n')[0]}. Repair it, then try again.`,
    );
  }
}

/** The same text with one server set, or with `undefined` removed; comments and everything else stay. */
export function withServer(
  client: KnownClient,
  text: string,
  file: string,
  name: string,
  entry: Record<string, unknown> | undefined,
): string {
  const document = readDocument(client, text, file);
  const path = [...client.serversAt(document), name];
  if (client.format === 'json')
    return applyEdits(
      text.trim() === '' ? '{}\n' : text,
      modify(text.trim() === '' ? '{}' : text, path, entry, { formattingOptions }),
    );
  const rest = withoutTable(text, path.join('.'));
  if (!entry) return rest;
  const table = stringify(path.reduceRight<Record<string, unknown>>((inner, key) => ({ [key]: inner }), entry));
  return `${rest.trimEnd()}${rest.trim() === '' ? '' : '\n\n'}${table.trim()}\n`;
}

/** The servers that a client has, by name. */
export function serversIn(client: KnownClient, text: string, file: string): Record<string, Record<string, unknown>> {
  const document = readDocument(client, text, file);
  let found: unknown = document;
  for (const key of client.serversAt(document)) found = (found as Record<string, unknown> | undefined)?.[key];
  const entries = Object.entries((found ?? {}) as Record<string, unknown>);
  return Object.fromEntries(entries.filter(([, value]) => typeof value === 'object' && value !== null)) as Record<
    string,
    Record<string, unknown>
  >;
}

/** TOML without one table and what lies below it; the libraries that keep comments are not worth a dependency for this. */
function withoutTable(text: string, table: string): string {
  let isInside = false;
  const kept = text.split('\n').filter((line) => {
    const header = /^\s*\[+\s*([^\]]+?)\s*\]+/.exec(line)?.[1]?.replaceAll('"', '');
    if (header !== undefined) isInside = header === table || header.startsWith(`${table}.`);
    return !isInside;
  });
  return kept.join('\n');
}
