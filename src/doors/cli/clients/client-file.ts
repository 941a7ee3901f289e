import { isDeepStrictEqual } from 'node:util';
import {
  applyEdits,
  createScanner,
  findNodeAtLocation,
  modify,
  parse as parseJsonc,
  parseTree,
  printParseErrorCode,
  type Edit,
  type Node,
  type ParseError,
} from 'jsonc-parser';
import { parse as parseToml, stringify } from 'smol-toml';
import { CommandFailure } from '../failure.ts';
import type { KnownClient } from './known-clients.ts';

/** The settings as a value; a file that cannot be read is left alone, with the reason. */
function readDocument(client: KnownClient, text: string, file: string): Record<string, unknown> {
  const { body } = withoutMark(text);
  try {
    if (client.format === 'toml') return parseToml(body) as Record<string, unknown>;
    const errors: ParseError[] = [];
    const value = body.trim() === '' ? {} : (parseJsonc(body, errors, { allowTrailingComma: true }) as unknown);
    const [first] = errors;
    if (first) throw new Error(`${printParseErrorCode(first.error)} at character ${first.offset}`);
    if (!isObject(value)) throw new Error('it is not an object');
    return value;
  } catch (error) {
    throw new CommandFailure(
      'config.invalid',
      `${file} cannot be read: ${(error as Error).message.split('\n')[0]}. Repair it, then try again.`,
    );
  }
}

/**
 * The same text with one server set, or with `undefined` removed; comments and everything else stay. Fails rather than
 * answer a text that says anything else.
 */
export function withServer(
  client: KnownClient,
  text: string,
  file: string,
  name: string,
  entry: Record<string, unknown> | undefined,
): string {
  const { mark, body } = withoutMark(text);
  const wanted = readDocument(client, body, file);
  const servers = client.serversAt(wanted);
  put(wanted, [...servers, name], entry);
  try {
    const edited = (client.format === 'json' ? inJson : inToml)(body, servers, name, entry);
    if (isDeepStrictEqual(comparable(readDocument(client, edited, file)), comparable(wanted))) return mark + edited;
  } catch {
    // Something else than a map stands where the servers should, or the result cannot be read.
  }
  throw new CommandFailure(
    'config.invalid',
    `${file} is written in a way that cannot be changed without risk. ${entry ? 'Add' : 'Remove'} ${[...servers, name].join('.')} by hand.`,
  );
}

function inJson(text: string, servers: string[], name: string, entry: Record<string, unknown> | undefined): string {
  const whole = text.trim() === '' ? '{}\n' : text;
  const indent = /^([ \t]+)"/m.exec(whole)?.[1] ?? '  ';
  const formattingOptions = { insertSpaces: !indent.startsWith('\t'), tabSize: indent.length };
  const tree = parseTree(whole);
  const isNothing = tree !== undefined && findNodeAtLocation(tree, servers)?.type === 'null';
  if (isNothing && !entry) return whole;
  const old = tree && findNodeAtLocation(tree, [...servers, name])?.parent;
  if (!entry) return old ? applyEdits(whole, removal(whole, old)) : whole;
  const [path, value] = isNothing ? [servers, { [name]: entry }] : [[...servers, name], entry];
  return applyEdits(whole, modify(whole, path, value, { formattingOptions }));
}

/** Takes out a property and its comma; the library's own way takes the comments around it along. */
function removal(text: string, property: Node): Edit[] {
  const end = property.offset + property.length;
  const siblings = property.parent!.children!;
  const before = siblings[siblings.indexOf(property) - 1];
  const comma = commaAfter(text, end) ?? (before && commaAfter(text, before.offset + before.length));
  const isAlone = /^[ \t]*,?[ \t]*\r?$/m.exec(text.slice(end))?.index === 0;
  const space = isAlone ? (/\r?\n[ \t]*$/.exec(text.slice(0, property.offset))?.[0].length ?? 0) : 0;
  const edits = [{ offset: property.offset - space, length: property.length + space, content: '' }];
  return comma === undefined ? edits : [...edits, { offset: comma, length: 1, content: '' }];
}

/** Where the comma behind a value is; undefined when there is none. */
function commaAfter(text: string, end: number): number | undefined {
  const scanner = createScanner(text, true);
  scanner.setPosition(end);
  scanner.scan();
  const next = scanner.getTokenOffset();
  return text[next] === ',' ? next : undefined;
}

function inToml(text: string, servers: string[], name: string, entry: Record<string, unknown> | undefined): string {
  const path = [...servers, name];
  const rest = withoutTable(text, path.join('.'));
  if (!entry) return rest;
  const table = stringify(path.reduceRight<Record<string, unknown>>((inner, key) => ({ [key]: inner }), entry));
  const added = `${rest.trim() === '' ? '' : '\n\n'}${table.trim()}\n`;
  return rest.trimEnd() + (text.includes('\r\n') ? added.replaceAll('\n', '\r\n') : added);
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Some editors put a byte order mark first; it stays where it was. */
function withoutMark(text: string): { mark: string; body: string } {
  return text.startsWith('\ufeff') ? { mark: '\ufeff', body: text.slice(1) } : { mark: '', body: text };
}

function put(document: Record<string, unknown>, path: string[], value: unknown): void {
  const [key = '', ...rest] = path;
  if (rest.length === 0) return void (document[key] = value);
  if (value !== undefined) document[key] ??= {};
  if (isObject(document[key])) put(document[key], rest, value);
}

/** What two texts must have in common; an empty table says as little as a missing one. */
function comparable(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (_key, each: unknown) =>
    isObject(each) && Object.keys(each).length === 0 ? undefined : each,
  );
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

/**
 * TOML without one table and what lies below it; the libraries that keep comments are not worth a dependency for this.
 * Comments that stand before the next table belong to that.
 */
function withoutTable(text: string, table: string): string {
  const kept: string[] = [];
  let waiting: string[] = [];
  let isInside = false;
  for (const line of text.split('\n')) {
    const header = /^\s*\[+\s*([^\]]+?)\s*\]+/.exec(line)?.[1]?.replaceAll('"', '');
    if (header !== undefined) {
      if (isInside) kept.push(...waiting);
      isInside = header === table || header.startsWith(`${table}.`);
      waiting = [];
    }
    if (!isInside) kept.push(line);
    else if (/^\s*(#.*)?$/.test(line)) waiting.push(line);
    else waiting = [];
  }
  if (isInside) kept.push(...waiting);
  return kept.join('\n');
}
