import { isLongInteger } from '../schema/index.ts';
import { redactedItems, type RedactedItems } from './redacted-items.ts';
import { SecretPattern, shortestForm } from './secret-pattern.ts';
import type { Secret } from './secrets.ts';

/** Takes every known secret out of what leaves the program, in each form in which it may have been written. */
export interface Redactor {
  text(text: string): string;
  /** A JSON value with all its strings and keys redacted; the same object when there was nothing to hide. */
  value<T>(value: T): T;
  /** For text that comes in pieces: holds back as much as could be the start of a secret. */
  stream(): RedactedStream;
  /** For JSON values that come one after another: also hides what is split over several of them. */
  items(): RedactedItems;
  /** Bytes of any kind; what is hidden is overwritten, so that the length stays. The same buffer when there was nothing. */
  bytes(bytes: Buffer): Buffer;
  /** A value that is not in the store but just as secret, such as an access token. */
  add(name: string, value: string): void;
}

export interface RedactedStream {
  push(chunk: string): string;
  end(): string;
}

export interface Compiled {
  pattern: SecretPattern;
  names: Map<string, string>;
}

const mostAdded = 256;
const mostFormer = 256;

/**
 * Opens a redactor over a source of secrets. The last few hundred values that were removed or replaced stay redacted: some
 * secrets are replaced every hour, for as long as the process lives.
 */
export function redactor(source: { version(): number; all(): Pick<Secret, 'name' | 'value'>[] }): Redactor {
  let known = new Map<string, string>();
  const former = new Map<string, string>();
  const added = new Map<string, string>();
  let compiled: Compiled | undefined;
  let seenVersion = -1;

  function current(): Compiled | undefined {
    const version = source.version();
    if (version === seenVersion) return compiled;
    seenVersion = version;
    takeOver();
    return compiled;
  }

  function takeOver(): void {
    const now = new Map(source.all().map(({ name, value }) => [value, name]));
    for (const [value, name] of known) if (!now.has(value)) former.set(value, name);
    for (const value of now.keys()) former.delete(value);
    forgetOldest(former, mostFormer);
    known = now;
    compiled = compile([...known, ...former, ...added]);
  }
  const replace = (text: string, { pattern, names }: Compiled): string =>
    pattern.replace(text, (found) => `[secret:${names.get(found) ?? ''}]`);

  function walk(value: unknown, rules: Compiled): unknown {
    if (typeof value === 'string') return value.length < shortestForm ? value : replace(value, rules);
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) {
      const next = value.map((each) => walk(each, rules));
      return next.some((each, index) => each !== value[index]) ? next : value;
    }
    let isChanged = false;
    const entries = Object.entries(value).map(([key, each]) => {
      const pair = [replace(key, rules), walk(each, rules)] as const;
      isChanged ||= pair[0] !== key || pair[1] !== each;
      return pair;
    });
    if (!isChanged) return value;
    // Digits that are a secret leave a text behind.
    return isLongInteger(value) ? entries[0]![1] : Object.fromEntries(entries);
  }

  return {
    text(text) {
      const rules = current();
      return rules ? replace(text, rules) : text;
    },
    value<T>(value: T): T {
      const rules = current();
      return rules ? (walk(value, rules) as T) : value;
    },
    stream() {
      let held = '';
      return {
        push(chunk) {
          const rules = current();
          held += chunk;
          if (!rules) {
            const all = held;
            held = '';
            return all;
          }
          // From here on, a form may have begun that is not complete yet.
          const safe = Math.max(0, held.length - rules.pattern.longest + 1);
          const { out, from } = replaceBefore(held, safe, rules);
          held = held.slice(from);
          return out;
        },
        end() {
          const rules = current();
          const out = rules ? replace(held, rules) : held;
          held = '';
          return out;
        },
      };
    },
    items: () => redactedItems(current, walk),
    bytes(bytes) {
      const rules = current();
      if (!rules) return bytes;
      // One character per byte, so that places in the text are places in the bytes.
      const text = bytes.toString('latin1');
      const clean = inBytes(rules).replace(text, (found) => '*'.repeat(found.length));
      return clean === text ? bytes : Buffer.from(clean, 'latin1');
    },
    add(name, value) {
      if (value.length < 8 || added.has(value)) return;
      added.set(value, name);
      forgetOldest(added, mostAdded);
      takeOver();
    },
  };
}

function forgetOldest(values: Map<string, string>, most: number): void {
  for (const oldest of values.keys()) {
    if (values.size <= most) return;
    values.delete(oldest);
  }
}

const bytePatterns = new WeakMap<Compiled, SecretPattern>();

function inBytes(rules: Compiled): SecretPattern {
  let pattern = bytePatterns.get(rules);
  if (!pattern) {
    const forms = [...rules.names.keys()].flatMap((form) =>
      (['utf8', 'utf16le'] as const).map((encoding) => Buffer.from(form, encoding).toString('latin1')),
    );
    pattern = new SecretPattern(new Set(forms));
    bytePatterns.set(rules, pattern);
  }
  return pattern;
}

/** Replaces every form that starts before `safe`; answers the text up to there and the place to continue from. */
function replaceBefore(text: string, safe: number, { pattern, names }: Compiled): { out: string; from: number } {
  let out = '';
  let from = 0;
  for (let place = pattern.next(text, 0); place && place.index < safe; place = pattern.next(text, from)) {
    out += `${text.slice(from, place.index)}[secret:${names.get(place.form) ?? ''}]`;
    from = place.index + place.form.length;
  }
  const upTo = Math.max(from, safe);
  return { out: out + text.slice(from, upTo), from: upTo };
}

function compile(secrets: [value: string, name: string][]): Compiled | undefined {
  const names = new Map<string, string>();
  for (const [value, name] of secrets)
    for (const form of secretForms(value)) if (!names.has(form)) names.set(form, name);
  return names.size === 0 ? undefined : { pattern: new SecretPattern(names.keys()), names };
}

/** The value itself and how it looks inside base64 (wherever it starts), hex, URLs, forms and JSON. */
export function secretForms(secret: string): string[] {
  const value = secret.toWellFormed();
  const bytes = Buffer.from(value, 'utf8');
  const hex = bytes.toString('hex');
  const percent = encodeURIComponent(value);
  const form = new URLSearchParams([['', value]]).toString().slice(1);
  const escaped = JSON.stringify(value).slice(1, -1);
  const everyByte = hex.replace(/../g, '%$&');
  const forms = [
    value,
    hex,
    hex.toUpperCase(),
    everyByte,
    everyByte.toUpperCase(),
    escaped,
    JSON.stringify(escaped).slice(1, -1),
  ];
  for (const text of [percent, form, percent.replaceAll("'", '%27')])
    forms.push(
      text,
      text.replace(/%[0-9A-F]{2}/g, (each) => each.toLowerCase()),
    );
  for (let shift = 0; shift < 3; shift++) {
    const base64 = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64');
    const inner = base64.slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + bytes.length) * 8) / 6));
    forms.push(inner, inner.replaceAll('+', '-').replaceAll('/', '_'));
  }
  return [...new Set(forms)].filter((each) => each.length >= shortestForm);
}
