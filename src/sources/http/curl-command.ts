import { fail } from '../../schema/index.ts';
import { plain, type Word } from './curl-words.ts';

/** A curl command as its flags say it. */
export interface Command {
  url?: Word;
  method?: string;
  headers: Word[];
  data: { value: Word; isUrlEncoded: boolean }[];
  form: Word[];
  user?: Word;
  isGet: boolean;
  isJson: boolean;
  notes: string[];
}

const withValue: Record<string, string> = {
  X: 'request',
  H: 'header',
  d: 'data',
  F: 'form',
  u: 'user',
  b: 'cookie',
  A: 'user-agent',
  e: 'referer',
  o: 'output',
  m: 'max-time',
  w: 'write-out',
  x: 'proxy',
  T: 'upload-file',
  E: 'cert',
};
const ignored = new Set(['output', 'max-time', 'connect-timeout', 'write-out', 'retry', 'retry-delay', 'max-redirs']);
const refused = new Set([
  'proxy',
  'upload-file',
  'cert',
  'key',
  'unix-socket',
  'resolve',
  'connect-to',
  'config',
  'netrc-file',
]);
const takesValue = new Set([
  ...Object.values(withValue),
  ...ignored,
  ...refused,
  'data-raw',
  'data-binary',
  'data-urlencode',
  'data-ascii',
  'json',
  'form-string',
  'url',
  'oauth2-bearer',
  'cacert',
]);

/** Reads the flags; throws import.invalid for what no tool can express. */
export function readCommand(words: Word[]): Command {
  const made: Command = { headers: [], data: [], form: [], isGet: false, isJson: false, notes: [] };
  if (!/^(.*\/)?curl(\.exe)?$/.test(plain(words[0] ?? [])))
    throw fail('import.invalid', { reason: 'it does not begin with curl' });
  for (let at = 1; at < words.length; at++) {
    const word = words[at] as Word;
    const text = plain(word);
    if (['|', '||', '>', '>>', '<', '&', '&&', ';'].includes(text)) {
      made.notes.push(`what stands behind ${text} is left out`);
      break;
    }
    if (!text.startsWith('-') || text === '-') {
      if (made.url) made.notes.push(`${JSON.stringify(text.slice(0, 100))} is left out: a tool has one address`);
      made.url ??= word;
      continue;
    }
    for (const { name, inline } of flagsOf(text)) {
      const value = takesValue.has(name) ? (inline === undefined ? words[++at] : [inline]) : undefined;
      if (takesValue.has(name) && !value) throw fail('import.invalid', { reason: `${text} has no value` });
      take(made, name, value ?? []);
    }
  }
  return made;
}

/** `--header`, `-H`, `-XPOST` and `-sSL` alike. */
function* flagsOf(text: string): Generator<{ name: string; inline?: string }> {
  if (text.startsWith('--')) {
    const [name = '', ...rest] = text.slice(2).split('=');
    return yield rest.length > 0 && takesValue.has(name) ? { name, inline: rest.join('=') } : { name: text.slice(2) };
  }
  for (let at = 1; at < text.length; at++) {
    const letter = text[at] as string;
    const name = withValue[letter];
    const rest = text.slice(at + 1);
    if (name !== undefined) return yield rest === '' ? { name } : { name, inline: rest };
    yield { name: letter };
  }
}

function take(made: Command, name: string, value: Word): void {
  if (refused.has(name)) throw fail('import.invalid', { reason: `--${name} cannot be expressed by a tool` });
  if (name === 'url') made.url = value;
  else if (name === 'request') made.method = plain(value);
  else if (name === 'header') made.headers.push(value);
  else if (name === 'cookie') made.headers.push(['Cookie: ', ...value]);
  else if (name === 'user-agent') made.headers.push(['User-Agent: ', ...value]);
  else if (name === 'referer') made.headers.push(['Referer: ', ...value]);
  else if (name === 'oauth2-bearer') made.headers.push(['Authorization: Bearer ', ...value]);
  else if (name === 'user') made.user = value;
  else if (name === 'form' || name === 'form-string') made.form.push(value);
  else if (name === 'json') {
    made.isJson = true;
    made.data.push({ value, isUrlEncoded: false });
  } else if (name.startsWith('data')) made.data.push({ value, isUrlEncoded: name === 'data-urlencode' });
  else if (name === 'G' || name === 'get') made.isGet = true;
  else if (name === 'I' || name === 'head') made.method ??= 'HEAD';
  else if (name === 'k' || name === 'insecure') made.notes.push('certificates are checked all the same');
}
