import { fail, findLongInteger, isObject, parseExactly } from '../../schema/index.ts';
import { fromFile, type Command, type Data } from './curl-command.ts';
import type { TemplateWriter } from './curl-template.ts';

/** Names under which a field holds a credential. In a query `key` is one more; in a body it is an ordinary word. */
const credentialField =
  /^((api|app|access|private|subscription)[-_]?key|appid|((api|access|auth|refresh|id|private|session|bearer)[-_]?)?token|(client[-_]?)?secret|(secret|access)[-_]?key|pass(word|wd|phrase)?|client[-_]?assertion)$/i;
const credentialPair = /^(key|auth|sig|signature|x-amz-(signature|credential|security-token))$/i;

export const isCredential = (name: string): boolean => credentialField.test(name);

/** The query, each pair an argument whose default is the value of the command. */
export function readQuery(url: URL, command: Command, writer: TemplateWriter): Record<string, unknown> {
  const added = [...command.query, ...(command.isGet ? command.data : [])];
  const pairs = [...url.searchParams, ...added.flatMap((each) => pairsOf(each, writer))];
  const query = new Map<string, string | string[]>();
  for (const [name, value] of pairs) {
    if (writer.hasMark(name)) throw nameless(writer.shown(name));
    const template = pairTemplate(name, value, writer);
    const there = query.get(name);
    query.set(name, there === undefined ? template : [there, template].flat());
  }
  return Object.fromEntries(query);
}

function pairTemplate(name: string, value: string, writer: TemplateWriter): string {
  if (credentialPair.test(name) || isCredential(name)) return writer.hide(value, name);
  if (writer.hasMark(value)) return writer.template(value);
  return writer.argument(name, { type: 'string', default: value });
}

/** Data as pairs, decoded. */
function pairsOf({ value, isUrlEncoded }: Data, writer: TemplateWriter): [string, string][] {
  const text = writer.marked(value);
  if (!isUrlEncoded) return [...new URLSearchParams(text)];
  const [name, content] = nameAndContent(text);
  return name === '' ? [[content, '']] : [[new URLSearchParams(`${name}=`).keys().next().value ?? name, content]];
}

/** What --data-urlencode takes: `content`, `=content` or `name=content`, where only the content is encoded. */
function nameAndContent(text: string): [string, string] {
  const at = text.indexOf('=');
  return at === -1 ? ['', text] : [text.slice(0, at), text.slice(at + 1)];
}

/** The body and the content type it is sent with; undefined without one. */
export function readBody(
  command: Command,
  given: string | undefined,
  writer: TemplateWriter,
): { body: unknown; contentType: string } | undefined {
  if (command.form.length > 0) return { body: readForm(command, writer), contentType: given ?? 'multipart/form-data' };
  if (command.data.length === 0) return undefined;
  const contentType = given ?? (command.isJson ? 'application/json' : 'application/x-www-form-urlencoded');
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(contentType);
  const pieces = command.data.map((each) => dataText(each, writer));
  const text = pieces.join(command.isJson ? '' : '&');
  if (/\bjson\b/i.test(contentType)) return { body: jsonBody(text, writer), contentType };
  return { body: isForm ? formBody(text, writer) : writer.template(text), contentType };
}

function dataText({ value, isUrlEncoded }: Data, writer: TemplateWriter): string {
  const text = writer.marked(value);
  if (!isUrlEncoded) return text;
  const [name, content] = nameAndContent(text);
  return (name === '' ? '' : `${name}=`) + encodeURIComponent(content);
}

/** The text of a form as it is, but for its credentials. */
function formBody(text: string, writer: TemplateWriter): string {
  return text
    .split('&')
    .map((pair) => {
      const [name = '', value = ''] = [...new URLSearchParams(pair)][0] ?? [];
      return isCredential(name) ? `${encodeURIComponent(name)}=${writer.hide(value, name)}` : writer.template(pair);
    })
    .join('&');
}

function jsonBody(text: string, writer: TemplateWriter): unknown {
  const parsed = parsedJson(text, writer);
  if (parsed === undefined) return writer.template(text);
  const { value, loose } = parsed;
  const lost = findLongInteger(value, '');
  if (lost)
    throw fail('import.invalid', {
      reason: `${lost.path || 'the body'} is ${lost.digits}, an integer too long to be kept exactly. Write it as a string, if the API takes one`,
    });
  if (!isObject(value)) return templateOf(value, '', loose, writer);
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => {
      if (!isPlain(each, key, writer)) return [key, templateOf(each, key, loose, writer)];
      const type = Array.isArray(each) ? 'array' : typeof each;
      return [key, writer.argument(key, { ...(each !== null && { type }), default: each })];
    }),
  );
}

/** `loose` are the marks that stood outside quotes: their values may be of any type. */
function parsedJson(text: string, writer: TemplateWriter): { value: unknown; loose: Set<string> } | undefined {
  const loose = new Set<string>();
  const quoted = text.replace(/([:[,]\s*)(\w+)(?=\s*[,}\]])/g, (whole, before: string, word: string) => {
    if (!writer.hasMark(word)) return whole;
    loose.add(word);
    return `${before}"${word}"`;
  });
  for (const each of new Set([text, quoted]))
    try {
      const value = parseExactly(each);
      return hasMarkedName(value, writer) ? undefined : { value, loose: each === text ? new Set() : loose };
    } catch {
      // As text it is sent all the same.
    }
  return undefined;
}

function templateOf(value: unknown, name: string, loose: ReadonlySet<string>, writer: TemplateWriter): unknown {
  if (typeof value === 'string') {
    if (isCredential(name)) return writer.hide(value, name);
    return loose.has(value) ? writer.anyValue(value) : writer.template(value);
  }
  if (Array.isArray(value)) return value.map((each) => templateOf(each, name, loose, writer));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, templateOf(each, key, loose, writer)]));
}

/** Nothing but what the command says, and nothing to hide. */
function isPlain(value: unknown, name: string, writer: TemplateWriter): boolean {
  if (typeof value === 'string') return !writer.hasMark(value) && (value === '' || !isCredential(name));
  if (Array.isArray(value)) return value.every((each) => isPlain(each, name, writer));
  return !isObject(value) || Object.entries(value).every(([key, each]) => isPlain(each, key, writer));
}

function hasMarkedName(value: unknown, writer: TemplateWriter): boolean {
  if (Array.isArray(value)) return value.some((each) => hasMarkedName(each, writer));
  if (!isObject(value)) return false;
  return Object.entries(value).some(([key, each]) => writer.hasMark(key) || hasMarkedName(each, writer));
}

function readForm(command: Command, writer: TemplateWriter): Record<string, unknown> {
  const fields = new Map<string, string | string[]>();
  for (const { value: word, isPlain: isText } of command.form) {
    const text = writer.marked(word);
    const at = text.indexOf('=');
    const name = text.slice(0, Math.max(at, 0));
    if (at < 1)
      throw fail('import.invalid', { reason: `the form field ${JSON.stringify(text.slice(0, 60))} has no =` });
    if (writer.hasMark(name)) throw nameless(writer.shown(name));
    const given = text.slice(at + 1);
    if (!isText && /^[@<]/.test(given)) throw fromFile('a form field');
    const value = isText ? given : given.replace(/;\s*(type|filename|headers|encoder)=[^;]*/g, '');
    if (value !== given) command.notes.push(`what stands behind the value of the form field ${name} is not sent`);
    const template = isCredential(name) ? writer.hide(value, name) : writer.template(value);
    const there = fields.get(name);
    fields.set(name, there === undefined ? template : [there, template].flat());
  }
  return Object.fromEntries(fields);
}

function nameless(shown: string): Error {
  return fail('import.invalid', {
    reason: `the name ${JSON.stringify(shown.slice(0, 60))} is a variable. Write it out`,
  });
}
