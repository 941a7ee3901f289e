import { fail, isObject, type HttpAuth, type HttpImpl } from '../../schema/index.ts';
import { readCommand, type Command } from './curl-command.ts';
import { plain, shellWords, type Word } from './curl-words.ts';
import { secretPrefix } from './openapi/secret-names.ts';
import { slugify } from './openapi/slugs.ts';
import type { ImportedTool } from './openapi/index.ts';

/** One curl command as one tool. */
export interface CurlImport {
  tool: ImportedTool;
  host: string;
  /** Credentials become secrets: `value` is there when the command held it. */
  secrets: { name: string; value?: string }[];
  notes: string[];
}

/**
 * Reads a command as browsers and API pages give it. Values of the query and of a JSON body become optional
 * arguments with the value of the command as their default; credentials become secrets. Throws import.invalid.
 */
export function importCurl(
  text: string,
  options: { slug?: string | undefined; prefix?: string | undefined } = {},
): CurlImport {
  if (text.length > 1_000_000)
    throw fail('import.invalid', { reason: 'the command is longer than a million characters' });
  const command = readCommand(shellWords(text.trim()));
  if (!command.url) throw fail('import.invalid', { reason: 'the command has no address' });
  const reader = new TemplateWriter();
  const address = reader.write(command.url);
  const url = URL.parse(/^[a-z]+:\/\//i.test(address) ? address : `http://${address}`);
  if (!url || !/^https?:$/.test(url.protocol))
    throw fail('import.invalid', { reason: `${JSON.stringify(plain(command.url).slice(0, 100))} is no http address` });
  if (url.host.includes('$') || url.host.includes('%'))
    throw fail('import.invalid', { reason: 'the host is a variable. Write it out' });
  const prefix = options.prefix ?? secretPrefix(url.hostname);
  const signIn = readSignIn(command, url, reader, prefix);
  const query = readQuery(url, command, reader, prefix, signIn);
  const headers = readHeaders(command, reader, prefix, signIn);
  const body = command.isGet ? undefined : readBody(command, headers, reader);
  const method = (command.method ?? (command.isGet ? 'GET' : body === undefined ? 'GET' : 'POST')).toUpperCase();
  const path = unescapePlaceholders(url.pathname);
  const slug = options.slug ?? (slugify(`${method} ${url.pathname.replace(/%7B|%7D|\$/gi, ' ')}`) || 'request');
  const request: HttpImpl['request'] = {
    method,
    urlTemplate: url.origin + path,
    ...(Object.keys(query).length > 0 && { query }),
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(body !== undefined && { body }),
    ...(signIn.auth && { auth: signIn.auth }),
  };
  return {
    host: url.host,
    secrets: [...signIn.secrets.values()],
    notes: command.notes,
    tool: {
      slug,
      version: 'v1',
      displayName: `${method} ${url.pathname}`.slice(0, 100),
      description: `${method} ${url.origin}${url.pathname}`.slice(0, 500),
      isEnabled: true,
      type: 'http',
      argSchema: {
        type: 'object',
        properties: reader.properties,
        ...(reader.required.size > 0 && { required: [...reader.required] }),
        additionalProperties: false,
      },
      httpImpl: { request },
    },
  };
}

/** Turns words into templates: their variables become arguments, their text stays what it is. */
class TemplateWriter {
  readonly properties: Record<string, Record<string, unknown>> = {};
  readonly required = new Set<string>();

  write(word: Word): string {
    return word
      .map((part) => {
        if (typeof part === 'string') return part.replaceAll('${', () => '$${');
        this.declare(part.variable, { type: 'string' }, true);
        return `\${${part.variable}}`;
      })
      .join('');
  }

  /** An argument of that name, or of a free one like it. */
  declare(wish: string, schema: Record<string, unknown>, isRequired = false): string {
    const base =
      wish
        .replace(/[^A-Za-z0-9_]+/g, '_')
        .replace(/^(?=\d)/, '_')
        .slice(0, 60) || 'value';
    if (isRequired) {
      this.properties[base] ??= schema;
      this.required.add(base);
      return base;
    }
    let name = base;
    for (let count = 2; Object.hasOwn(this.properties, name) || name === '__proto__'; count++)
      name = `${base}_${count}`;
    this.properties[name] = schema;
    return name;
  }
}

interface SignIn {
  auth?: HttpAuth;
  secrets: Map<string, { name: string; value?: string }>;
  /** A template that stands for a credential. */
  hide(word: Word, name: string): string;
}

function readSignIn(command: Command, url: URL, writer: TemplateWriter, prefix: string): SignIn {
  const secrets: SignIn['secrets'] = new Map();
  const hide: SignIn['hide'] = (word, name) => {
    const [only] = word;
    if (word.length === 1 && typeof only === 'object') {
      secrets.set(only.variable, { name: only.variable });
      return `\${${only.variable}}`;
    }
    if (word.some((part) => typeof part === 'object')) return writer.write(word);
    secrets.set(name, { name, value: plain(word) });
    return `\${${name}}`;
  };
  const made: SignIn = { secrets, hide };
  const user =
    command.user ?? (url.username === '' ? undefined : [`${decoded(url.username)}:${decoded(url.password)}`]);
  url.username = '';
  url.password = '';
  if (!user) return made;
  const text = plain(user);
  const at = text.indexOf(':');
  const hasVariable = user.some((part) => typeof part === 'object');
  const password: Word = hasVariable
    ? user.slice(user.findIndex((part) => typeof part === 'object'))
    : [text.slice(at + 1)];
  made.auth = {
    type: 'basic',
    username: text.slice(0, Math.max(at, 0)).replaceAll('${', () => '$${'),
    password: hide(password, `${prefix}_PASSWORD`),
  };
  return made;
}

const credentialHeader =
  /^(authorization|cookie|x-api-key|api-key|apikey|x-auth-token|x-access-token|x-[\w-]*(token|key|secret)[\w-]*)$/i;
const credentialName =
  /^(api[-_]?key|key|token|access[-_]?token|auth|secret|client[-_]?secret|password|sig|signature)$/i;

function readHeaders(command: Command, writer: TemplateWriter, prefix: string, signIn: SignIn): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const word of command.headers) {
    const text = plain(word);
    const match = /^([^:]+):\s*/.exec(text);
    const name = match?.[1]?.trim() ?? '';
    if (
      !match ||
      /^(host|content-length|connection|accept-encoding|transfer-encoding)$/i.test(name) ||
      text === match[0].trim()
    )
      continue;
    const value = dropFirst(word, match[0].length);
    if (!credentialHeader.test(name)) headers[name] = writer.write(value);
    else {
      const scheme = /^(bearer|basic|token|apikey)\s+/i.exec(plain(value))?.[0] ?? '';
      headers[name] =
        scheme +
        signIn.hide(dropFirst(value, scheme.length), `${prefix}_${name.replace(/[^A-Za-z0-9]+/g, '_').toUpperCase()}`);
    }
  }
  return headers;
}

function readQuery(
  url: URL,
  command: Command,
  writer: TemplateWriter,
  prefix: string,
  signIn: SignIn,
): Record<string, unknown> {
  const query: Record<string, unknown> = {};
  const pairs = [
    ...url.searchParams,
    ...(command.isGet ? command.data.flatMap((each) => [...new URLSearchParams(writer.write(each.value))]) : []),
  ];
  for (const [name, value] of pairs) {
    const template = /\$\{\w+\}/.test(value)
      ? value
      : credentialName.test(name)
        ? signIn.hide([value], `${prefix}_${name.replace(/[^A-Za-z0-9]+/g, '_').toUpperCase()}`)
        : `\${${writer.declare(name, { type: 'string', default: value })}}`;
    const there = query[name];
    query[name] = there === undefined ? template : [there, template].flat();
  }
  return query;
}

function readBody(command: Command, headers: Record<string, string>, writer: TemplateWriter): unknown {
  const setType = (type: string): string => {
    const name = Object.keys(headers).find((each) => each.toLowerCase() === 'content-type') ?? 'Content-Type';
    return (headers[name] ??= type);
  };
  if (command.form.length > 0) {
    setType('multipart/form-data');
    return Object.fromEntries(command.form.map((word) => fieldOf(word, writer)));
  }
  if (command.data.length === 0) return undefined;
  for (const { value } of command.data)
    if (plain(value).startsWith('@'))
      throw fail('import.invalid', {
        reason: 'data from a file (@) cannot be taken over. Write the data into the command',
      });
  const text = command.data
    .map(({ value, isUrlEncoded }) => (isUrlEncoded ? encodePair(writer.write(value)) : writer.write(value)))
    .join('&');
  const isJson =
    command.isJson ||
    /json/i.test(
      setType(looksLikeJson(text) && command.isJson ? 'application/json' : 'application/x-www-form-urlencoded'),
    );
  if (!isJson) return text;
  setType('application/json');
  try {
    return withArguments(JSON.parse(text), writer);
  } catch {
    return text;
  }
}

const looksLikeJson = (text: string): boolean => /^\s*[[{]/.test(text);

/** The fields of a JSON body as arguments, each with the value of the command as its default. */
function withArguments(value: unknown, writer: TemplateWriter): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => {
      if (typeof each === 'string' && /\$\{\w+\}/.test(each)) return [key, each];
      const type = each === null ? undefined : Array.isArray(each) ? 'array' : typeof each;
      return [key, `\${${writer.declare(key, { ...(type && { type }), default: each })}}`];
    }),
  );
}

function fieldOf(word: Word, writer: TemplateWriter): [string, string] {
  const text = writer.write(word);
  const at = text.indexOf('=');
  const value = text.slice(at + 1);
  if (at < 1 || /^[@<]/.test(value))
    throw fail('import.invalid', { reason: 'a form field from a file (@) cannot be taken over' });
  return [text.slice(0, at), value.replace(/;type=[\w/.+-]+$/, '')];
}

function encodePair(text: string): string {
  const at = text.indexOf('=');
  return at === -1 ? encodeURIComponent(text) : `${text.slice(0, at)}=${encodeURIComponent(text.slice(at + 1))}`;
}

/** A word as text, variables as their names: for looking, not for sending. */
function dropFirst(word: Word, count: number): Word {
  const [first, ...rest] = word;
  return typeof first === 'string' ? [first.slice(count), ...rest].filter((part) => part !== '') : word;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const unescapePlaceholders = (path: string): string => path.replace(/\$%7B(\w+)%7D/gi, '${$1}');
