import { fail } from '../../schema/index.ts';
import { plain, type Word } from './curl-words.ts';

/** Data of a request: as it is, or to be encoded. */
export interface Data {
  value: Word;
  isUrlEncoded: boolean;
}

/** A curl command as its flags say it. */
export interface Command {
  url?: Word;
  method?: string;
  headers: Word[];
  cookies: Word[];
  data: Data[];
  /** What is added to the query whatever becomes of the data. */
  query: Data[];
  form: { value: Word; isPlain: boolean }[];
  user?: Word;
  isGet: boolean;
  isJson: boolean;
  notes: string[];
}

const longNames: Record<string, string> = {
  A: 'user-agent',
  b: 'cookie',
  c: 'cookie-jar',
  C: 'continue-at',
  d: 'data',
  D: 'dump-header',
  e: 'referer',
  E: 'cert',
  F: 'form',
  G: 'get',
  H: 'header',
  I: 'head',
  k: 'insecure',
  K: 'config',
  m: 'max-time',
  n: 'netrc',
  o: 'output',
  P: 'ftp-port',
  Q: 'quote',
  r: 'range',
  t: 'telnet-option',
  T: 'upload-file',
  u: 'user',
  U: 'proxy-user',
  w: 'write-out',
  x: 'proxy',
  X: 'request',
  y: 'speed-time',
  Y: 'speed-limit',
  z: 'time-cond',
  ':': 'next',
};
const names = (text: string): Set<string> => new Set(text.split(/\s+/));
const understood = names(
  'cookie data data-ascii data-binary data-raw data-urlencode form form-string header json oauth2-bearer range referer request url url-query user user-agent',
);
/** How the request is made or shown, not what it is: their values are read over. */
const ignored = names(
  'alt-svc cacert capath ciphers connect-timeout continue-at cookie-jar create-file-mode crlfile curves delegation dns-interface dns-ipv4-addr dns-ipv6-addr dns-servers doh-url dump-header ech egd-file engine etag-compare etag-save expect100-timeout ftp-port happy-eyeballs-timeout-ms hostpubmd5 hostpubsha256 hsts interface ip-tos keepalive-cnt keepalive-time libcurl limit-rate local-port login-options max-filesize max-redirs max-time noproxy output output-dir parallel-max pinnedpubkey proto proto-default proto-redir proxy-user quote random-file rate retry retry-delay retry-max-time sasl-authzid service-name signature-algorithms speed-limit speed-time stderr telnet-option time-cond tls-max tls13-ciphers trace trace-ascii trace-config vlan-priority write-out',
);
const refused = names(
  'abstract-unix-socket aws-sigv4 cert cert-type config connect-to haproxy-clientip key key-type netrc-file pass preproxy proxy proxy1.0 pubkey request-target resolve socks4 socks4a socks5 socks5-hostname tlsauthtype tlspassword tlsuser unix-socket upload-file variable',
);
const refusedAlone = names('anyauth digest negotiate netrc netrc-optional ntlm');
const takesValue = understood.union(ignored).union(refused);

/** Reads the flags; throws import.invalid for what no tool can express. */
export function readCommand(words: Word[]): Command {
  const made: Command = {
    headers: [],
    cookies: [],
    data: [],
    query: [],
    form: [],
    isGet: false,
    isJson: false,
    notes: [],
  };
  if (!/^(.*[/\\])?curl(\.exe)?$/i.test(plain(words[0] ?? [])))
    throw fail('import.invalid', { reason: 'it does not begin with curl' });
  for (let at = 1; at < words.length; at++) {
    const word = words[at] as Word;
    const text = plain(word);
    if (['|', '||', '>', '>>', '<', '&', '&&', ';', '--next', '-:'].includes(text)) {
      made.notes.push(`what stands behind ${text} is left out`);
      break;
    }
    if (!text.startsWith('-') || text === '-') {
      addAddress(made, word);
      continue;
    }
    for (const { name, inline } of flagsOf(word)) {
      const value = takesValue.has(name) ? (inline ?? words[++at]) : undefined;
      if (takesValue.has(name) && !value) throw fail('import.invalid', { reason: `${text} has no value` });
      take(made, name, value ?? []);
    }
  }
  return made;
}

/** `--header`, `-H`, `-XPOST` and `-sSL` alike. */
function* flagsOf(word: Word): Generator<{ name: string; inline?: Word }> {
  const text = typeof word[0] === 'string' ? word[0] : '';
  if (text.startsWith('--')) {
    const [name = ''] = text.slice(2).split('=');
    const hasValue = text.length > name.length + 2 && takesValue.has(name);
    return yield hasValue ? { name, inline: dropFirst(word, name.length + 3) } : { name: plain(word).slice(2) };
  }
  for (let at = 1; at < text.length; at++) {
    const letter = text[at] as string;
    const name = longNames[letter] ?? letter;
    if (!takesValue.has(name)) yield { name };
    else return yield at + 1 < text.length || word.length > 1 ? { name, inline: dropFirst(word, at + 1) } : { name };
  }
}

/** A word without its first characters, which must be text. */
function dropFirst([first, ...rest]: Word, count: number): Word {
  return [(first as string).slice(count), ...rest];
}

function addAddress(made: Command, word: Word): void {
  if (made.url) made.notes.push(`${JSON.stringify(plain(word).slice(0, 100))} is left out: a tool has one address`);
  made.url ??= word;
}

function take(made: Command, name: string, value: Word): void {
  const text = plain(value);
  if (refused.has(name) || refusedAlone.has(name) || name.startsWith('expand-'))
    throw fail('import.invalid', { reason: `--${name} cannot be expressed by a tool` });
  if (name === 'url') addAddress(made, value);
  else if (name === 'request') made.method = text;
  else if (name === 'header') made.headers.push(value);
  else if (name === 'user-agent') made.headers.push(['User-Agent: ', ...value]);
  else if (name === 'referer') made.headers.push(['Referer: ', ...value]);
  else if (name === 'range') made.headers.push(['Range: bytes=', ...value]);
  else if (name === 'oauth2-bearer') made.headers.push(['Authorization: Bearer ', ...value]);
  else if (name === 'user') made.user = value;
  else if (name === 'cookie') {
    if (!text.includes('=') && !text.includes('$')) throw fromFile('cookies');
    made.cookies.push(value);
  } else if (name === 'form' || name === 'form-string') made.form.push({ value, isPlain: name === 'form-string' });
  else if (name === 'json' || name.startsWith('data')) {
    made.isJson ||= name === 'json';
    made.data.push(dataOf(name, value));
  } else if (name === 'url-query')
    made.query.push(text.startsWith('+') ? dataOf('data-raw', dropFirst(value, 1)) : dataOf('data-urlencode', value));
  else if (name === 'get') made.isGet = true;
  else if (name === 'head') made.method ??= 'HEAD';
  else if (name === 'insecure') made.notes.push('certificates are checked all the same');
}

/** Of raw data an @ is part; what is to be encoded may name a file behind its own name. */
function dataOf(name: string, value: Word): Data {
  const text = plain(value);
  const isUrlEncoded = name === 'data-urlencode';
  if (isUrlEncoded ? text.includes('@') && !text.includes('=') : name !== 'data-raw' && text.startsWith('@'))
    throw fromFile('data');
  return { value, isUrlEncoded };
}

/** What a file on somebody's disk holds is not known to us. */
export function fromFile(what: string): Error {
  return fail('import.invalid', {
    reason: `${what} from a file cannot be taken over. Write the content into the command`,
  });
}
