import { fail, type HttpAuth, type HttpImpl } from '../../schema/index.ts';
import { readBody, readQuery } from './curl-body.ts';
import { fromFile, readCommand, type Command } from './curl-command.ts';
import { TemplateWriter, type FoundSecret, type NameSecret } from './curl-template.ts';
import { plain, shellWords } from './curl-words.ts';
import { isConnectionHeader, isHeaderName } from './header-names.ts';
import { secretPrefix } from './openapi/secret-names.ts';
import { slugify } from './openapi/slugs.ts';
import type { ImportedTool } from './openapi/index.ts';

/** One curl command as one tool. */
export interface CurlImport {
  tool: ImportedTool;
  host: string;
  /** Credentials become secrets. */
  secrets: FoundSecret[];
  notes: string[];
}

export interface CurlOptions {
  slug?: string | undefined;
  /** Starts the names of secrets; made from the host when left out. */
  prefix?: string | undefined;
  nameSecret?: NameSecret | undefined;
}

/**
 * Reads a command as browsers and API pages give it. Values of the query and of a JSON body become optional
 * arguments with the value of the command as their default; credentials become secrets. Throws import.invalid.
 */
export function importCurl(text: string, options: CurlOptions = {}): CurlImport {
  if (text.length > 1_000_000)
    throw fail('import.invalid', { reason: 'the command is longer than a million characters' });
  const words = shellWords(text.trim());
  const command = readCommand(words);
  if (!command.url) throw fail('import.invalid', { reason: 'the command has no address' });
  const prefix = options.prefix ?? secretPrefix(hostIn(plain(command.url)));
  const writer = new TemplateWriter(words, prefix, options.nameSecret ?? ((wish) => wish));
  const url = addressOf(command, writer);
  // Credentials first: a variable that is one is a secret wherever else it stands.
  const auth = readSignIn(command, url, writer);
  const headers = readHeaders(command, url, writer);
  const path = writer.template(url.pathname);
  const query = readQuery(url, command, writer);
  const contentType = Object.entries(headers).find(([name]) => name.toLowerCase() === 'content-type');
  const sent = command.isGet ? undefined : readBody(command, contentType?.[1], writer);
  if (sent && !contentType) headers['Content-Type'] = sent.contentType;
  const method = (command.method ?? (sent ? 'POST' : 'GET')).toUpperCase();
  const shown = `${method} ${writer.shown(url.pathname)}`;
  const request: HttpImpl['request'] = {
    method,
    urlTemplate: url.origin + path,
    ...(Object.keys(query).length > 0 && { query }),
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(sent && { body: sent.body }),
    ...(auth && { auth }),
  };
  return {
    host: url.host,
    secrets: [...writer.secrets.values()],
    notes: command.notes,
    tool: {
      slug: options.slug ?? (slugify(shown) || 'request'),
      version: 'v1',
      displayName: shown.slice(0, 100),
      description: `${method} ${url.origin}${writer.shown(url.pathname)}`.slice(0, 500),
      isEnabled: true,
      type: 'http',
      argSchema: {
        type: 'object',
        properties: writer.properties,
        ...(writer.required.length > 0 && { required: writer.required }),
        additionalProperties: false,
      },
      httpImpl: { request },
    },
  };
}

const withScheme = (address: string): string => (/^[a-z]+:\/\//i.test(address) ? address : `http://${address}`);
const hostIn = (address: string): string => URL.parse(withScheme(address))?.hostname ?? '';

function addressOf(command: Command, writer: TemplateWriter): URL {
  const url = URL.parse(withScheme(writer.marked(command.url ?? [])));
  if (!url || !/^https?:$/.test(url.protocol))
    throw fail('import.invalid', {
      reason: `${JSON.stringify(plain(command.url ?? []).slice(0, 100))} is no http address`,
    });
  if (writer.hasMark(url.host)) throw fail('import.invalid', { reason: 'the host is a variable. Write it out' });
  return url;
}

function readSignIn(command: Command, url: URL, writer: TemplateWriter): HttpAuth | undefined {
  const inAddress = url.username === '' ? undefined : `${decoded(url.username)}:${decoded(url.password)}`;
  const user = command.user ? writer.marked(command.user) : inAddress;
  if (user === undefined) return undefined;
  const at = user.indexOf(':');
  const username = at === -1 ? user : user.slice(0, at);
  const password = user.slice(username.length + 1);
  // Where there is nothing behind the colon, the name is the key.
  if (at !== -1 && password === '') return { type: 'basic', username: writer.hide(username, 'USER'), password: '' };
  return {
    type: 'basic',
    username: writer.template(username),
    password: at === -1 ? writer.ask('PASSWORD') : writer.hide(password, 'PASSWORD'),
  };
}

const credentialHeader =
  /^(?!.*idempotency)(.*(authorization|authentication|cookie|token|secret|passw|api-?key|application-key|subscription-key|access-key|auth-key).*|x-auth.*|x-.*key.*)$/i;

function readHeaders(command: Command, url: URL, writer: TemplateWriter): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { name, value } of headersOf(command, writer).values()) {
    if (name.toLowerCase() === 'host' && value.toLowerCase() !== url.host)
      command.notes.push('the header Host cannot be set by a tool');
    if (isConnectionHeader(name) || name.toLowerCase() === 'accept-encoding') continue;
    const scheme = /^(bearer|basic|token|apikey)\s+/i.exec(value)?.[0] ?? '';
    headers[name] = credentialHeader.test(name)
      ? writer.template(scheme) + writer.hide(value.slice(scheme.length), name)
      : writer.template(value);
  }
  return headers;
}

/** What is sent, by name in lower case: said twice it is one list. */
function headersOf(command: Command, writer: TemplateWriter): Map<string, { name: string; value: string }> {
  const all = new Map<string, { name: string; value: string }>();
  const add = (name: string, value: string): void => {
    const key = name.toLowerCase();
    const there = all.get(key);
    if (there) there.value += (key === 'cookie' ? '; ' : ', ') + value;
    else all.set(key, { name, value });
  };
  for (const word of command.headers) {
    const text = writer.marked(word);
    if (text.startsWith('@')) throw fromFile('headers');
    // `Name:` takes an ordinary header away, `Name;` sends an empty one.
    const [, name = '', value] = /^([^:;]*)(?::\s*([^]*)|;\s*)$/.exec(text) ?? [];
    if (!isHeaderName(name.trim()) || writer.hasMark(name))
      throw fail('import.invalid', {
        reason: `the header ${JSON.stringify(writer.shown(text).slice(0, 60))} has no name before a colon. Write it out`,
      });
    if (value !== '') add(name.trim(), value ?? '');
  }
  for (const word of command.cookies) add('Cookie', writer.marked(word));
  if (command.isJson) {
    if (!all.has('content-type')) add('Content-Type', 'application/json');
    if (!all.has('accept')) add('Accept', 'application/json');
  }
  return all;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
