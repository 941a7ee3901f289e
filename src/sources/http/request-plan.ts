import type { FieldStyle, HttpAuth, HttpImpl, JsonSchema } from '../../schema/index.ts';
import { compileAuth, type AuthPlan } from './auth.ts';
import { compileBody, compileValue, type BodyTemplate } from './body-template.ts';
import { forCookie, forHeader, forQuery } from './encodings.ts';
import { fieldPair, fieldsOf } from './field-styles.ts';
import { isConnectionHeader, isHeaderName } from './header-names.ts';
import {
  asText,
  declaredNames,
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
import { compileUrl, fillUrl, type UrlPlan } from './url-template.ts';

/** A request ready to be sent. */
export interface BuiltRequest {
  method: string;
  /** Whole, with the query. */
  url: string;
  headers: Record<string, string>;
  body: string | null;
}

/** A tool's request, compiled once: filling it touches no parser. */
export interface RequestPlan {
  method: string;
  /** Scheme, host and port: no placeholder can change them. */
  origin: string;
  isIdempotent: boolean;
  /** Secrets that this request carries. */
  ownSecretNames: readonly string[];
  /** Secrets that go to the token server instead. */
  tokenSecretNames: readonly string[];
  auth: AuthPlan | undefined;
  /** Headers that must not follow a redirect to another origin, lower case. */
  credentialHeaders: readonly string[];
  hasSecretBody: boolean;
  /** Fills everything but what needs a token. Throws MissingValue or TemplateProblem. */
  build(values: Values): BuiltRequest;
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const idempotent = new Set(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS']);

/** Compiles `httpImpl.request`; throws TemplateProblem with a message that starts with the field it is about. */
export function compileRequest(request: HttpImpl['request'], argSchema: JsonSchema | undefined): RequestPlan {
  const declared = declaredNames(argSchema);
  const method = request.method.toUpperCase();
  named(['method'], () => {
    if (!methods.includes(method))
      throw new TemplateProblem(`${shown(request.method)} is not known. Use one of ${methods.join(', ')}`);
  });
  const url = named(['urlTemplate'], () => compileUrl(request.urlTemplate, declared));
  const { styles = {} } = request;
  for (const name of Object.keys(styles.query ?? {}))
    if (!Object.hasOwn(request.query ?? {}, name))
      throw new TemplateProblem(`styles.query: there is no ${shown(name)} in query`, ['request', 'styles', 'query']);
  const query = compileQueries(request, declared);
  const headers = Object.entries(request.headers ?? {}).map(([name, value]) =>
    named(['headers', name], () => compileHeader(name, value, declared)),
  );
  const contentType = Object.entries(request.headers ?? {}).find(
    ([name]) => name.toLowerCase() === 'content-type',
  )?.[1];
  const body =
    request.body === undefined || request.body === null
      ? undefined
      : named(['body'], () => compileBody(request.body, contentType, declared, styles.body));
  const auth = request.auth && named(['auth'], () => compileAuth(request.auth as HttpAuth, declared));
  const refs = [
    ...url.refs,
    ...query.flatMap((each) => each.refs),
    ...headers.flatMap((each) => [...refsOf(each.template)]),
    ...(body?.refs ?? []),
    ...(auth && !auth.client ? auth.refs : []),
  ];
  return {
    method,
    origin: url.origin,
    isIdempotent: idempotent.has(method),
    ownSecretNames: [...new Set(secretsOf(refs))],
    tokenSecretNames: auth?.client ? [...new Set(secretsOf(auth.refs))] : [],
    auth,
    credentialHeaders: headers
      .filter((each) => secretsOf(refsOf(each.template)).length > 0)
      .map((each) => each.name.toLowerCase()),
    hasSecretBody: secretsOf(body?.refs ?? []).length > 0,
    build: (values) => buildRequest({ method, url, query, headers, body }, values),
  };
}

const secretsOf = (refs: Iterable<Ref>): string[] =>
  [...refs].flatMap((ref) => (ref.kind === 'secret' ? [ref.name] : []));

interface QueryPlan {
  refs: Ref[];
  /** `name=value` pairs, encoded. */
  fill(values: Values): string[];
}

function compileQueries(
  { query = {}, styles = {}, auth }: HttpImpl['request'],
  declared: ReadonlySet<string>,
): QueryPlan[] {
  const plans = Object.entries(query).map(([name, value]) => {
    const style = Object.hasOwn(styles.query ?? {}, name) ? styles.query?.[name] : undefined;
    const plan = named(['query', name], () => compileQuery(name, value, declared, style));
    return { name: forQuery(name), isSpread: style === 'exploded', plan };
  });
  const secret = new Set(plans.flatMap(({ name, plan }) => (secretsOf(plan.refs).length > 0 ? [name] : [])));
  if (auth?.type === 'apiKey' && auth.in === 'query') secret.add(forQuery(auth.name));
  return plans.map(({ isSpread, plan }) =>
    isSpread ? { ...plan, fill: (values) => besides(secret, plan.fill(values)) } : plan,
  );
}

/** An argument that brings its own names may not bring one that carries a credential. */
function besides(secret: ReadonlySet<string>, pairs: string[]): string[] {
  const taken = pairs.map((pair) => pair.slice(0, pair.indexOf('='))).find((name) => secret.has(name));
  if (taken !== undefined) throw new TemplateProblem(`a value names ${shown(taken)}, which the tool itself sets`);
  return pairs;
}

function compileQuery(
  name: string,
  value: unknown,
  declared: ReadonlySet<string>,
  style: FieldStyle | undefined,
): QueryPlan {
  const pairs = (found: unknown): string[] => [...fieldsOf(name, found, style)].map(fieldPair);
  // A list that is written in some style is one value.
  if (Array.isArray(value) && style === undefined) {
    const items = value.map((each) => compileQuery(name, each, declared, style));
    return { refs: items.flatMap((each) => each.refs), fill: (values) => items.flatMap((each) => each.fill(values)) };
  }
  const refs: Ref[] = [];
  if (typeof value === 'string') {
    const template = parseTemplate(value, declared);
    refs.push(...refsOf(template));
    const lone = loneRef(template);
    if (!lone)
      return {
        refs,
        fill: (values) =>
          ((text) => (text === undefined ? [] : [`${forQuery(name)}=${forQuery(text)}`]))(
            fillText(template, values, amongText),
          ),
      };
    return { refs, fill: (values) => pairs(resolveRef(lone, values)) };
  }
  const node = compileValue(value, declared, refs);
  return { refs, fill: (values) => pairs(node(values)) };
}

/** A value beside other text of one pair: a list becomes `a,b`. */
const amongText = (value: unknown): string => (Array.isArray(value) ? value.map(asText).join(',') : asText(value));

interface HeaderPlan {
  name: string;
  template: Template;
  fill(values: Values): string | undefined;
}

function compileHeader(name: string, value: string, declared: ReadonlySet<string>): HeaderPlan {
  checkHeaderName(name);
  const template = parseTemplate(value, declared);
  for (const part of template) if (typeof part === 'string') forHeader(part);
  const fill =
    name.toLowerCase() === 'cookie'
      ? compileCookies(value, declared)
      : (values: Values) => fillText(template, values, forHeader);
  return { name, template, fill };
}

/** Each cookie for itself: one whose value is missing is left out, and an argument stays inside its own. */
function compileCookies(text: string, declared: ReadonlySet<string>): HeaderPlan['fill'] {
  const pairs = (text.match(/(?:\$\{[^}]*\}|[^;])+/g) ?? []).map((pair) => parseTemplate(pair.trim(), declared));
  return (values) => {
    const filled = pairs.flatMap((pair) => {
      // Alone it stands for whole cookies.
      const isWhole = loneRef(pair) !== undefined;
      return (
        fillText(pair, values, (value, ref) => (isWhole || ref.kind !== 'arg' ? forHeader : forCookie)(value)) ?? []
      );
    });
    return filled.length > 0 ? filled.join('; ') : undefined;
  };
}

/** Throws TemplateProblem for what is no header name, or one that only the connection may set. */
export function checkHeaderName(name: string): void {
  if (!isHeaderName(name)) throw new TemplateProblem(`${shown(name)} is no valid header name`);
  if (isConnectionHeader(name)) throw new TemplateProblem(`the header ${name} cannot be set by a tool`);
}

interface Parts {
  method: string;
  url: UrlPlan;
  query: QueryPlan[];
  headers: HeaderPlan[];
  body: BodyTemplate | undefined;
}

function buildRequest({ method, url, query, headers, body }: Parts, values: Values): BuiltRequest {
  const search = query.flatMap((each) => each.fill(values));
  const filled: Record<string, string> = {};
  for (const { name, fill } of headers) {
    const text = fill(values);
    if (text !== undefined) filled[name.toLowerCase()] = text.trim();
  }
  const sent = body?.fill(values);
  if (sent) filled['content-type'] = sent.contentType;
  // Where nothing is sent there is nothing to describe: servers look for the body that it announces.
  else if (body) delete filled['content-type'];
  return {
    method,
    url: fillUrl(url, values, search, method !== 'GET' && method !== 'HEAD'),
    headers: filled,
    body: sent?.body ?? null,
  };
}

/** Puts the field's name in front of what is wrong with it. */
function named<T>(field: string[], work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof TemplateProblem)
      throw new TemplateProblem(`${field.join('.')}: ${error.message}`, ['request', ...field]);
    throw error;
  }
}

const shown = (text: string): string => JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}...` : text);
