/** A value that cannot leave the program: too large, or nested too deeply. */
export class ValueProblem extends Error {}

const maxDepth = 200;
const maxDescribed = 64 * 1024;

/**
 * JSON text of a value that the interpreter handed out. Dicts come as Map, tuples as arrays, dates and the like
 * as tagged objects; all become what JSON has. `isFloat` is asked for every number, in order: JavaScript alone cannot tell
 * `2.0` from `2`. With an `indent` every item has a line of its own. Throws ValueProblem above `maxBytes`.
 */
export function toJson(value: unknown, maxBytes: number, isFloat: () => boolean = () => false, indent = ''): string {
  const parts: string[] = [];
  const line = (depth: number): string => (indent === '' ? '' : `\n${indent.repeat(depth)}`);
  const colon = indent === '' ? ':' : ': ';
  const numberText = (number: number): string =>
    isFloat() && Number.isInteger(number) && Math.abs(number) < 1e16 ? `${number}.0` : String(number);
  let size = 0;
  const put = (text: string): void => {
    size += text.length;
    if (size > maxBytes)
      throw new ValueProblem(`a value of more than ${Math.round(maxBytes / 1024 / 1024)} MiB cannot leave the program`);
    parts.push(text);
  };
  const write = (item: unknown, depth: number): void => {
    if (depth > maxDepth)
      throw new ValueProblem(`a value that is nested deeper than ${maxDepth} levels cannot leave the program`);
    if (typeof item === 'string') put(JSON.stringify(item));
    else if (typeof item === 'number') put(Number.isFinite(item) ? numberText(item) : nonFinite(isFloat));
    else if (typeof item === 'boolean') put(String(item));
    else if (typeof item === 'bigint') {
      isFloat();
      put(String(item));
    } else if (item === null || item === undefined) put('null');
    else if (Buffer.isBuffer(item)) put(JSON.stringify(bytesText(item)));
    else if (Array.isArray(item) || item instanceof Set) writeList(item, depth);
    else if (item instanceof Map) writeDict(item, depth);
    else put(JSON.stringify(taggedText(item as Tagged)));
  };
  const writeList = (items: Iterable<unknown>, depth: number): void => {
    let before = '[';
    for (const item of items) {
      put(before + line(depth + 1));
      write(item, depth + 1);
      before = ',';
    }
    put(before === '[' ? '[]' : `${line(depth)}]`);
  };
  const writeDict = (items: Map<unknown, unknown>, depth: number): void => {
    let before = '{';
    for (const [key, item] of items) {
      put(
        `${before}${line(depth + 1)}${JSON.stringify(typeof key === 'number' ? numberText(key) : keyText(key))}${colon}`,
      );
      write(item, depth + 1);
      before = ',';
    }
    put(before === '{' ? '{}' : `${line(depth)}}`);
  };
  write(value, 0);
  return parts.join('');
}

/** As toJson, with `2.0` where Python has a float: `debugText` is the interpreter's own description of the value. */
export function toPythonJson(value: unknown, maxBytes: number, debugText: () => string): string {
  // JSON has no word for these; as the whole answer they must not look like None.
  if (typeof value === 'number' && !Number.isFinite(value))
    return JSON.stringify(String(value).replace('Infinity', 'inf').replace('NaN', 'nan'));
  let numbers = 0;
  const json = toJson(value, maxBytes, () => (numbers++, false));
  if (numbers === 0 || json.length > maxDescribed) return json;
  const description = debugText();
  if (!description.includes('Float(')) return json;
  const kinds = [...description.matchAll(/"(?:\\.|[^"\\])*"|\b(Float|Int|LongInt|BigInt)\(/g)].flatMap(
    ([, kind]) => kind ?? [],
  );
  let at = 0;
  const exact = toJson(value, maxBytes, () => kinds[at++] === 'Float');
  // Descriptions hold more numbers than the value where it has dates and the like: then the plain form must do.
  return at === kinds.length ? exact : json;
}

function nonFinite(isFloat: () => boolean): string {
  isFloat();
  return 'null';
}

/** The keyword arguments of a call. A keyword called `__proto__` arrives as the object's prototype. */
export function keywordsToJson(kwargs: Record<string, unknown>, maxBytes: number): string {
  const entries = new Map<string, unknown>(Object.entries(kwargs));
  const prototype: unknown = Object.getPrototypeOf(kwargs);
  if (prototype !== Object.prototype) entries.set('__proto__', prototype);
  return toJson(entries, maxBytes);
}

/** A JSON text as a value for the interpreter, which would take an object with its tag for one of its own. */
export function fromJson(text: string): unknown {
  const value = /\d{16}/.test(text) ? withLongIntegers(text) : (JSON.parse(text) as unknown);
  return text.includes('__monty_type__') ? untagged(value) : value;
}

type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown;
const parse = JSON.parse as (text: string, reviver: Reviver) => unknown;

/** The value of a JSON text, with integers as long as they are. */
export const withLongIntegers = (json: string): unknown =>
  parse(json, (_key, value, { source = '' }) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source) ? BigInt(source) : value,
  );

function untagged(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(untagged);
  if (typeof value !== 'object' || value === null) return value;
  return new Map(Object.entries(value).map(([key, item]) => [key, untagged(item)]));
}

function keyText(key: unknown): string {
  if (typeof key === 'string') return key;
  if (key === null || key === undefined) return 'null';
  return typeof key === 'object' ? toJson(key, 10_000) : String(key);
}

function bytesText(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  return text.includes('\uFFFD') ? bytes.toString('base64') : text;
}

interface Tagged extends Record<string, unknown> {
  __monty_type__?: string;
}

const two = (value: unknown): string => String(value ?? 0).padStart(2, '0');

/** Values without a JSON form, as text. */
function taggedText(item: Tagged): string {
  const date = `${String(item['year']).padStart(4, '0')}-${two(item['month'])}-${two(item['day'])}`;
  const micro = item['microsecond'] ? `.${String(item['microsecond']).padStart(6, '0')}` : '';
  const time = `${two(item['hour'])}:${two(item['minute'])}:${two(item['second'])}${micro}`;
  switch (item.__monty_type__) {
    case 'Dataclass':
      return `<pack ${String(item['name'])}>`;
    case 'Type':
      return `<class '${String(item['value'])}'>`;
    case 'Exception':
      return `${String(item['excType'])}: ${String(item['message'] ?? '')}`;
    case 'DateTime':
      return `${date}T${time}${offsetText(item['offsetSeconds'])}`;
    case 'Date':
      return date;
    case 'Time':
      return time;
    case 'TimeDelta':
      return durationText(item);
    case 'TimeZone':
      return item['offsetSeconds'] ? `UTC${offsetText(item['offsetSeconds'])}` : 'UTC';
    case 'Ellipsis':
      return '...';
    default:
      return typeof item['value'] === 'string' ? item['value'] : `<${item.__monty_type__ ?? typeof item}>`;
  }
}

/** As Python's `str` writes it: `1 day, 3:00:00`. */
function durationText({ days, seconds, microseconds }: Tagged): string {
  const [whole, rest] = [Number(days), Number(seconds)];
  const clock = `${Math.floor(rest / 3600)}:${two(Math.floor(rest / 60) % 60)}:${two(rest % 60)}`;
  const micro = microseconds ? `.${String(microseconds).padStart(6, '0')}` : '';
  const inDays = whole === 0 ? '' : `${whole} ${Math.abs(whole) === 1 ? 'day' : 'days'}, `;
  return `${inDays}${clock}${micro}`;
}

function offsetText(seconds: unknown): string {
  if (typeof seconds !== 'number') return '';
  const minutes = Math.abs(Math.trunc(seconds / 60));
  return `${seconds < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}
