import { isObject, type JsonSchema } from '../../schema/index.ts';

/** A value that a placeholder stands for. Arguments and secrets are strictly apart: which one it is shows when it is compiled. */
export type Ref =
  | { kind: 'arg'; path: readonly (string | number)[]; text: string }
  | { kind: 'secret'; name: string; text: string }
  | { kind: 'own'; name: OwnName; text: string };

/** What the request itself knows: for signatures. */
export type OwnName = 'method' | 'path' | 'body' | 'timestamp';

/** A text with its placeholders found. */
export type Template = readonly (string | Ref)[];

/** Where values come from while a template is filled. */
export interface Values {
  args: Record<string, unknown>;
  secret(name: string): string;
  own?(name: OwnName): string;
}

/** A placeholder in the path, or in a place that cannot be left out, has no value. */
export class MissingValue extends Error {}
/** A template or a value that cannot be used; the message is meant for people. */
export class TemplateProblem extends Error {
  /** The steps below `httpImpl` to what it is about, where that is known. */
  readonly at: readonly string[] | undefined;

  constructor(message: string, at?: readonly string[]) {
    super(message);
    this.at = at;
  }
}

const names = '[\\p{L}_][\\p{L}\\p{Nd}_-]*';
const dotted = new RegExp(`^(${names})((?:\\.${names}|\\[\\d{1,9}\\])*)$`, 'u');
const secretName = /^[A-Za-z_][A-Za-z0-9_-]{0,127}$/;
const ownNames: readonly string[] = ['method', 'path', 'body', 'timestamp'] satisfies OwnName[];

/** The argument names that templates may use. */
export function declaredNames(argSchema: JsonSchema | undefined): ReadonlySet<string> {
  const properties = isObject(argSchema) ? argSchema['properties'] : undefined;
  return new Set(isObject(properties) ? Object.keys(properties) : []);
}

/** Finds `${name}`, `${a.b}` and `${l[1]}`; `$${` is a literal `${`. Throws TemplateProblem for any other form. */
export function parseTemplate(text: string, declared: ReadonlySet<string>): Template {
  const parts: (string | Ref)[] = [];
  let literal = '';
  let from = 0;
  for (let at = text.indexOf('${'); at !== -1; at = text.indexOf('${', from)) {
    if (at > from && text[at - 1] === '$') {
      literal += text.slice(from, at - 1) + '${';
      from = at + 2;
      continue;
    }
    literal += text.slice(from, at);
    const end = text.indexOf('}', at);
    if (end === -1) throw new TemplateProblem(`the placeholder ${shown(text.slice(at))} is not closed with }`);
    if (literal !== '') parts.push(literal);
    literal = '';
    parts.push(parseRef(text.slice(at + 2, end), declared));
    from = end + 1;
  }
  literal += text.slice(from);
  if (literal !== '') parts.push(literal);
  return parts;
}

function parseRef(inner: string, declared: ReadonlySet<string>): Ref {
  const text = `\${${inner}}`;
  if (declared.has(inner)) return { kind: 'arg', path: [inner], text };
  if (inner.startsWith('@') && ownNames.includes(inner.slice(1)))
    return { kind: 'own', name: inner.slice(1) as OwnName, text };
  const match = dotted.exec(inner);
  if (!match)
    throw new TemplateProblem(
      `${shown(text)} is no placeholder. Use \${name}, \${a.b} or \${list[0]}, and $\${ for a literal \${`,
    );
  const [, root = '', rest = ''] = match;
  if (declared.has(root)) {
    const steps = [...rest.matchAll(/\.([^.[\]]+)|\[(\d+)\]/g)].map(([, name, index]) => name ?? Number(index));
    return { kind: 'arg', path: [root, ...steps], text };
  }
  if (rest !== '')
    throw new TemplateProblem(`${shown(text)} has a path, but ${root} is not declared in argSchema.properties`);
  if (!secretName.test(root))
    throw new TemplateProblem(
      `${shown(text)} is neither declared in argSchema.properties nor a possible name of a secret`,
    );
  return { kind: 'secret', name: root, text };
}

/** The value behind a placeholder; undefined when the argument is not there. Throws when a secret is not there. */
export function resolveRef(ref: Ref, values: Values): unknown {
  if (ref.kind === 'secret') return values.secret(ref.name);
  if (ref.kind === 'own') return values.own?.(ref.name);
  let value: unknown = values.args;
  for (const step of ref.path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}

/** Fills a template, each value by `encode`; undefined when a value is missing. */
export function fillText(
  template: Template,
  values: Values,
  encode: (value: unknown, ref: Ref) => string,
): string | undefined {
  let filled = '';
  for (const part of template) {
    if (typeof part === 'string') {
      filled += part;
      continue;
    }
    const value = resolveRef(part, values);
    if (value === undefined || value === null) return undefined;
    filled += encode(value, part);
  }
  return filled;
}

/** A value as plain text: what is no text or number is written as JSON. */
export function asText(value: unknown): string {
  return (typeof value === 'object' ? JSON.stringify(value) : String(value)).toWellFormed();
}

/** The one placeholder that is all of this text; its value keeps its type where the place has types. */
export function loneRef(template: Template): Ref | undefined {
  const [first] = template;
  return template.length === 1 && typeof first === 'object' ? first : undefined;
}

export function* refsOf(template: Template): Generator<Ref> {
  for (const part of template) if (typeof part === 'object') yield part;
}

const shown = (text: string): string => (text.length > 60 ? `${text.slice(0, 60)}...` : text);
