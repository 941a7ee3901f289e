import { randomBytes } from 'node:crypto';
import { isObject, type FieldStyle } from '../../schema/index.ts';
import { forJsonText, forQuery, forXml } from './encodings.ts';
import { fieldPair, fieldsOf, fieldText, type Field } from './field-styles.ts';
import {
  asText,
  fillText,
  loneRef,
  parseTemplate,
  refsOf,
  resolveRef,
  TemplateProblem,
  type Ref,
  type Template,
  type Values,
} from './template.ts';

/** A body ready to be filled. */
export interface BodyTemplate {
  refs: Ref[];
  /** The bytes to send and their content type; undefined when there is nothing to send. */
  fill(values: Values): { body: string; contentType: string } | undefined;
}

/** How the fields of a form are written, by their names. */
type Styles = Readonly<Record<string, FieldStyle>>;
type Node = (values: Values) => unknown;
/** Marks a value that is left out because its argument was not given. */
const absent = Symbol('absent');
const maxDepth = 64;

/** Compiles `body`: a JSON value with placeholders, or a text; `contentType` (as the author wrote it) decides how values are written. */
export function compileBody(
  body: unknown,
  contentType: string | undefined,
  declared: ReadonlySet<string>,
  styles: Styles = {},
): BodyTemplate {
  const kind = kindOf(contentType);
  if (typeof body === 'string') return compileText(parseTemplate(body, declared), kind, contentType, styles);
  const refs: Ref[] = [];
  const node = compileNode(body, declared, refs, 0);
  const constant = refs.length === 0 ? JSON.stringify(body) : undefined;
  return {
    refs,
    fill(values) {
      if (kind === 'form') return { body: formText(node(values), styles), contentType: contentType as string };
      if (kind === 'multipart') return multipart(node(values), styles);
      const text = constant ?? jsonText(node(values));
      return text === undefined ? undefined : { body: text, contentType: contentType ?? 'application/json' };
    },
  };
}

/** The filled value of a JSON template; undefined when its only placeholder has no value. */
export function compileValue(value: unknown, declared: ReadonlySet<string>, refs: Ref[]): (values: Values) => unknown {
  const node = compileNode(value, declared, refs, 0);
  return (values) => {
    const filled = node(values);
    return filled === absent ? undefined : filled;
  };
}

function compileNode(value: unknown, declared: ReadonlySet<string>, refs: Ref[], depth: number): Node {
  if (depth > maxDepth) throw new TemplateProblem(`the body is nested more than ${maxDepth} levels deep`);
  if (typeof value === 'string') return compileString(parseTemplate(value, declared), refs);
  if (Array.isArray(value)) {
    const items = value.map((each) => compileNode(each, declared, refs, depth + 1));
    return (values) => items.map((item) => item(values)).filter((each) => each !== absent);
  }
  if (!isObject(value)) return () => value;
  const entries = Object.entries(value).map(
    ([key, each]) => [key, compileNode(each, declared, refs, depth + 1)] as const,
  );
  return (values) =>
    Object.fromEntries(
      entries.map(([key, node]) => [key, node(values)] as const).filter(([, each]) => each !== absent),
    );
}

function compileString(template: Template, refs: Ref[]): Node {
  refs.push(...refsOf(template));
  const lone = loneRef(template);
  if (lone)
    return (values) => {
      const value = resolveRef(lone, values);
      return value === undefined ? absent : value;
    };
  return (values) => fillText(template, values, asText) ?? absent;
}

type Kind = 'json' | 'form' | 'multipart' | 'xml' | 'text';

function kindOf(contentType: string | undefined): Kind {
  const type = (contentType ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  if (type === 'application/x-www-form-urlencoded') return 'form';
  if (type === 'multipart/form-data') return 'multipart';
  if (/^application\/([\w.-]+\+)?json$/.test(type)) return 'json';
  if (/^(application|text)\/([\w.-]+\+)?xml$/.test(type)) return 'xml';
  return 'text';
}

function compileText(template: Template, kind: Kind, contentType: string | undefined, styles: Styles): BodyTemplate {
  const refs = [...refsOf(template)];
  const lone = loneRef(template);
  const quoted = kind === 'json' ? insideQuotes(template) : new Set<Ref>();
  const encode = (ref: Ref, value: unknown): string => {
    if (kind === 'json') return forJsonText(value, quoted.has(ref));
    if (kind === 'form') return forQuery(value);
    return kind === 'xml' ? forXml(value) : asText(value);
  };
  return {
    refs,
    fill(values) {
      const only = lone && resolveRef(lone, values);
      if (lone && only === undefined) return undefined;
      if (lone && typeof only !== 'string' && kind !== 'xml') {
        if (kind === 'form') return { body: formText(only, styles), contentType: contentType as string };
        if (kind === 'multipart') return multipart(only, styles);
        return { body: JSON.stringify(only), contentType: contentType ?? 'application/json' };
      }
      // Alone, the value is the document itself; only JSON has a spelling for every value.
      if (lone && kind !== 'json')
        return { body: asText(only), contentType: contentType ?? 'text/plain; charset=utf-8' };
      const filled = template.map((part) =>
        typeof part === 'string'
          ? part
          : encode(part, resolveRef(part, values) ?? (kind === 'json' && !quoted.has(part) ? null : '')),
      );
      return { body: filled.join(''), contentType: contentType ?? 'text/plain; charset=utf-8' };
    },
  };
}

/** Which placeholders of a JSON text stand inside a string. */
function insideQuotes(template: Template): Set<Ref> {
  const inside = new Set<Ref>();
  let isOpen = false;
  for (const part of template) {
    if (typeof part === 'object') {
      if (isOpen) inside.add(part);
      continue;
    }
    for (let at = 0; at < part.length; at++) {
      if (part[at] === '\\' && isOpen) at++;
      else if (part[at] === '"') isOpen = !isOpen;
    }
  }
  return inside;
}

function jsonText(value: unknown): string | undefined {
  return value === absent ? undefined : JSON.stringify(value);
}

function* formFields(value: unknown, styles: Styles): Generator<Field & { style: FieldStyle | undefined }> {
  if (!isObject(value)) throw new TemplateProblem('a form needs an object as its body');
  for (const [name, each] of Object.entries(value)) {
    const style = Object.hasOwn(styles, name) ? styles[name] : undefined;
    for (const field of fieldsOf(name, each, style)) yield { ...field, style };
  }
}

function formText(value: unknown, styles: Styles): string {
  return [...formFields(value, styles)].map(fieldPair).join('&');
}

function multipart(value: unknown, styles: Styles): { body: string; contentType: string } {
  // Long and random: no value can contain it by accident or on purpose.
  const boundary = `----oubliette${randomBytes(18).toString('hex')}`;
  let body = '';
  for (const field of formFields(value, styles)) {
    const name = quoted(field.name);
    // Servers tell a file from a field by its name.
    const file = field.style === 'file' ? `; filename="${name}"\r\nContent-Type: application/octet-stream` : '';
    const isJson = file === '' && (field.style === 'json' || (field.between === undefined && isObject(field.value)));
    const type = isJson ? '\r\nContent-Type: application/json' : file;
    body += `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${type}\r\n\r\n${fieldText(field)}\r\n`;
  }
  return { body: `${body}--${boundary}--\r\n`, contentType: `multipart/form-data; boundary=${boundary}` };
}

const quoted = (name: string): string => name.replace(/["\r\n]/g, (found) => encodeURIComponent(found));
