import { forPath, forQuery, refuseDotSegments } from './encodings.ts';
import {
  fillText,
  MissingValue,
  parseTemplate,
  refsOf,
  resolveRef,
  TemplateProblem,
  type Ref,
  type Template,
  type Values,
} from './template.ts';

const maxUrlTemplate = 16_384;

/** An address whose scheme, host and port are fixed. */
export interface UrlPlan {
  origin: string;
  path: Template;
  pairs: Template[];
  refs: Ref[];
}

/** Compiles an address; throws TemplateProblem when a placeholder could choose where it leads. */
export function compileUrl(text: string, declared: ReadonlySet<string>): UrlPlan {
  if (text.length > maxUrlTemplate) throw new TemplateProblem(`is longer than ${maxUrlTemplate} characters`);
  if (/[\x00-\x1f\x7f]/.test(text)) throw new TemplateProblem('holds a line break or another control character');
  const match = /^(https?:\/\/)([^/?#]*)([^?#]*)(?:\?([^#]*))?/i.exec(text);
  if (!match) throw new TemplateProblem('must start with http:// or https://');
  const [, scheme = '', authority = '', path = '', query = ''] = match;
  if (authority.includes('${')) throw new TemplateProblem('may hold no placeholder in scheme, host or port');
  if (authority.includes('@')) throw new TemplateProblem('may hold no user name or password. Use auth with a secret');
  const url = /[\s\\]/.test(authority) || authority === '' ? undefined : URL.parse(scheme + authority);
  if (!url) throw new TemplateProblem(`has no usable host: ${shown(authority)}`);
  const pathTemplate = parseTemplate(path === '' ? '/' : path, declared);
  const pairs = query
    .split('&')
    .filter((each) => each !== '')
    .map((each) => parseTemplate(each, declared));
  return {
    origin: url.origin,
    path: pathTemplate,
    pairs,
    refs: [pathTemplate, ...pairs].flatMap((each) => [...refsOf(each)]),
  };
}

/** Stands for an empty value: no path holds it otherwise. */
const empty = '\0';

/**
 * The whole address; `more` are encoded pairs for its query. Throws MissingValue when the path lacks a value; with
 * `isWriting` also when a segment of it would be empty: `DELETE /users/` is another request than one for a user.
 */
export function fillUrl(plan: UrlPlan, values: Values, more: readonly string[] = [], isWriting = false): string {
  const marked = fillText(plan.path, values, (value) => forPath(value) || empty);
  if (marked === undefined) throw new MissingValue(missingIn(plan.path, values));
  if (isWriting && marked.split('/').some((segment) => segment !== '' && segment.replaceAll(empty, '') === ''))
    throw new MissingValue(emptyIn(plan.path, values));
  const path = marked.replaceAll(empty, '');
  if (plan.path.length > 1 || typeof plan.path[0] !== 'string') refuseDotSegments(path);
  const search = [...plan.pairs.flatMap((pair) => fillPair(pair, values)), ...more];
  return plan.origin + path + (search.length > 0 ? `?${search.join('&')}` : '');
}

/** One `name=value` of the template's own query: a list is repeated, a missing value leaves the pair out. */
function fillPair(pair: Template, values: Values): string[] {
  const last = pair.at(-1);
  const list = pair.length === 2 && typeof last === 'object' ? resolveRef(last, values) : undefined;
  if (Array.isArray(list)) return list.map((each) => String(pair[0]) + forQuery(each));
  const text = fillText(pair, values, forQuery);
  return text === undefined ? [] : [text];
}

function missingIn(template: Template, values: Values): string {
  const missing = [...refsOf(template)].filter((ref) => (resolveRef(ref, values) ?? undefined) === undefined);
  return `The path needs ${missing.map((ref) => ref.text).join(', ')}, but no value was given. Pass it as an argument.`;
}

function emptyIn(template: Template, values: Values): string {
  const found = [...refsOf(template)].filter((ref) => forPath(resolveRef(ref, values)) === '');
  return `The path needs ${found.map((ref) => ref.text).join(', ')}, but the value is empty. The request would be about something else.`;
}

const shown = (text: string): string => JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}...` : text);
