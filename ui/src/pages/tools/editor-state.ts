import { ApiError, type Detail } from '../../api/errors.ts';
import type { HttpAuth, HttpImpl, ToolBody, ToolView } from '../../api/shapes.ts';
import { longInteger, lostInTool, tooLong } from '../../form/long-integer.ts';
import { t } from '../../texts/index.ts';

/** A row of a map. A value that was stored as a list or another thing than text is written, and read again, as JSON. */
export type Pair = [name: string, value: string, isJson?: true];
export type AuthType = 'none' | HttpAuth['type'];

export interface HttpDraft {
  method: string;
  urlTemplate: string;
  query: Pair[];
  headers: Pair[];
  bodyKind: 'none' | 'json' | 'text';
  body: string;
  /** Not shown, but kept in the copy. */
  styles?: HttpImpl['request']['styles'];
  authType: AuthType;
  auth: Record<string, string>;
  timeoutMs: string;
  maxTries: string;
  isUnsafe: boolean;
  successCodes: string;
  errorMode: string;
  encoding: string;
  select: string;
}

/** Everything the editor holds, as typed: text that is not valid yet stays as it is. */
export interface ToolDraft {
  slug: string;
  version: string;
  displayName: string;
  description: string;
  tags: string;
  isEnabled: boolean;
  type: 'http' | 'function' | 'script';
  access: string;
  argSchema: string;
  outputSchema: string;
  func: string;
  code: string;
  http: HttpDraft;
  limits: Record<string, string>;
}

/** What each part of the editor gets: all that is typed, what the server refused, and a way to change it. */
export interface EditorCardProps {
  value: ToolDraft;
  details: Detail[];
  set(change: Partial<ToolDraft>): void;
}

export const limitNames = [
  'maxCallsPerMinute',
  'maxRequestBytes',
  'maxResponseBytes',
  'maxTries',
  'timeoutMs',
] as const;

const emptyHttp: HttpDraft = {
  method: 'GET',
  urlTemplate: '',
  query: [],
  headers: [],
  bodyKind: 'none',
  body: '',
  authType: 'none',
  auth: {},
  timeoutMs: '',
  maxTries: '',
  isUnsafe: false,
  successCodes: '',
  errorMode: 'fail',
  encoding: 'json',
  select: '',
};

export const emptyDraft: ToolDraft = {
  slug: '',
  version: 'v1',
  displayName: '',
  description: '',
  tags: '',
  isEnabled: true,
  type: 'http',
  access: '',
  argSchema: JSON.stringify({ type: 'object', properties: {}, additionalProperties: false }, null, 2),
  outputSchema: '',
  func: '',
  code: '',
  http: emptyHttp,
  limits: {},
};

const pairsOf = (map: Record<string, unknown> | undefined): Pair[] =>
  Object.entries(map ?? {}).map(([name, value]) =>
    typeof value === 'string' ? [name, value] : [name, JSON.stringify(value), true],
  );

const pretty = (value: unknown): string => (value === undefined ? '' : JSON.stringify(value, null, 2));

/** The draft of a new version that starts as a copy of a stored one. */
export function draftFrom(tool: ToolView, version: string): ToolDraft {
  const { httpImpl, limits = {} } = tool;
  return {
    slug: tool.slug,
    version,
    displayName: tool.displayName,
    description: tool.description ?? '',
    tags: (tool.tags ?? []).join(', '),
    isEnabled: true,
    type: tool.type === 'http' || tool.type === 'script' ? tool.type : 'function',
    access: tool.access ?? '',
    argSchema: pretty(tool.argSchema),
    outputSchema: pretty(tool.outputSchema),
    func: tool.functionImpl?.func ?? tool.goImpl?.func ?? '',
    code: tool.scriptImpl?.code ?? '',
    http: httpImpl ? httpDraft(httpImpl) : emptyHttp,
    limits: Object.fromEntries(Object.entries(limits).map(([name, value]) => [name, String(value)])),
  };
}

function httpDraft({ request, response = {} }: HttpImpl): HttpDraft {
  const { type = 'none', ...auth } = (request.auth ?? {}) as Record<string, string>;
  return {
    method: request.method,
    urlTemplate: request.urlTemplate,
    query: pairsOf(request.query),
    headers: pairsOf(request.headers),
    bodyKind: request.body === undefined ? 'none' : typeof request.body === 'string' ? 'text' : 'json',
    body: typeof request.body === 'string' ? request.body : pretty(request.body),
    styles: request.styles,
    authType: type as AuthType,
    auth,
    timeoutMs: request.timeoutMs ? String(request.timeoutMs) : '',
    maxTries: request.retry?.maxTries ? String(request.retry.maxTries) : '',
    isUnsafe: request.retry?.unsafe ?? false,
    successCodes: (response.successCodes ?? []).join(', '),
    errorMode: response.errorMode ?? 'fail',
    encoding: response.encoding ?? 'json',
    select: response.select ?? '',
  };
}

/** What is sent. Text that cannot be sent as it is (broken JSON, no number, an integer that would be another one) throws an ApiError that names its field. */
export function bodyFrom(draft: ToolDraft): ToolBody {
  const problems: Detail[] = [];
  const refuse = (path: string, message: string): void => void problems.push({ path, message });
  const json = (text: string, path: string): unknown => {
    for (const { digits } of lostInTool(text).slice(0, 1)) refuse(path, tooLong(digits));
    try {
      return JSON.parse(text);
    } catch (error) {
      refuse(path, error instanceof Error ? error.message : String(error));
      return undefined;
    }
  };
  const number = (text: string, path: string): number | undefined => {
    if (text.trim() === '') return undefined;
    const long = longInteger(text);
    if (long) refuse(path, tooLong(long));
    if (!/^\d+$/.test(text.trim())) refuse(path, t('tool.notNumber'));
    return Number(text);
  };
  const limits = Object.fromEntries(
    limitNames
      .map((name) => [name, number(draft.limits[name] ?? '', `/limits/${name}`)] as const)
      .filter(([, value]) => value !== undefined),
  );
  const tags = draft.tags.split(/[\s,]+/).filter(Boolean);
  const body = {
    displayName: draft.displayName,
    ...(draft.description ? { description: draft.description } : {}),
    ...(tags.length > 0 ? { tags } : {}),
    isEnabled: draft.isEnabled,
    type: draft.type,
    argSchema: json(draft.argSchema || '{}', '/argSchema'),
    ...(draft.outputSchema.trim() ? { outputSchema: json(draft.outputSchema, '/outputSchema') } : {}),
    ...(draft.type === 'function' ? { functionImpl: { func: draft.func } } : {}),
    ...(draft.type === 'script' ? { scriptImpl: { code: draft.code } } : {}),
    ...(draft.type === 'http' ? { httpImpl: httpFrom(draft.http, json, number, refuse) } : {}),
    ...(draft.access ? { access: draft.access } : {}),
    ...(Object.keys(limits).length > 0 ? { limits } : {}),
  };
  if (problems.length > 0) throw new ApiError(400, 'request.invalid', t('tool.fixFields'), problems);
  return body as ToolBody;
}

type Read<T> = (text: string, path: string) => T;

function httpFrom(
  http: HttpDraft,
  json: Read<unknown>,
  number: Read<number | undefined>,
  refuse: (path: string, message: string) => void,
): Record<string, unknown> {
  const at = '/httpImpl/request';
  const map = (pairs: Pair[], path: string, keyOf: (name: string) => string): Record<string, unknown> => {
    const rows = pairs.filter(([name, value]) => name !== '' || value !== '');
    const names = rows.map(([name]) => keyOf(name));
    if (names.includes('')) refuse(path, t('pairs.noName'));
    const twice = rows.find((_, index) => names.indexOf(names[index]!) !== index);
    if (twice) refuse(path, t('pairs.twice', { name: twice[0] }));
    return Object.fromEntries(rows.map(([name, value, isJson]) => [name, isJson ? json(value, path) : value]));
  };
  const query = map(http.query, `${at}/query`, (name) => name);
  const headers = map(http.headers, `${at}/headers`, (name) => name.toLowerCase());
  const timeoutMs = number(http.timeoutMs, `${at}/timeoutMs`);
  const maxTries = number(http.maxTries, `${at}/retry/maxTries`);
  const codes = http.successCodes
    .split(/[\s,]+/)
    .filter(Boolean)
    .map((code) => number(code, '/httpImpl/response/successCodes'));
  const response = {
    ...(codes.length > 0 ? { successCodes: codes } : {}),
    ...(http.errorMode === 'empty' ? { errorMode: 'empty' } : {}),
    ...(http.encoding === 'text' ? { encoding: 'text' } : {}),
    ...(http.select ? { select: http.select } : {}),
  };
  return {
    request: {
      method: http.method,
      urlTemplate: http.urlTemplate,
      ...(Object.keys(query).length > 0 ? { query } : {}),
      ...(Object.keys(headers).length > 0 ? { headers } : {}),
      ...(http.bodyKind === 'json'
        ? { body: json(http.body || 'null', `${at}/body`) }
        : http.bodyKind === 'text'
          ? { body: http.body }
          : {}),
      ...(http.styles ? { styles: stylesOf(http.styles, new Set(Object.keys(query))) } : {}),
      ...(http.authType === 'none' ? {} : { auth: { type: http.authType, ...filled(http) } }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(maxTries !== undefined || http.isUnsafe
        ? { retry: { ...(maxTries === undefined ? {} : { maxTries }), ...(http.isUnsafe ? { unsafe: true } : {}) } }
        : {}),
    },
    ...(Object.keys(response).length > 0 ? { response } : {}),
  };
}

/** Without those of pairs that were taken away. */
function stylesOf(
  styles: NonNullable<HttpImpl['request']['styles']>,
  names: ReadonlySet<string>,
): NonNullable<HttpImpl['request']['styles']> {
  const { query, ...rest } = styles;
  return query
    ? { ...rest, query: Object.fromEntries(Object.entries(query).filter(([name]) => names.has(name))) }
    : rest;
}

/** The fields of each way to prove who is calling, in the order in which they are asked for. */
export const authFields: Record<AuthType, readonly string[]> = {
  none: [],
  apiKey: ['in', 'name', 'value'],
  bearer: ['value'],
  basic: ['username', 'password'],
  hmac: ['secret', 'header', 'payload'],
  oauth2: ['grant', 'tokenUrl', 'clientId', 'clientSecret', 'refreshToken', 'scope'],
};

const authDefaults: Record<string, string> = { in: 'header', grant: 'client_credentials' };

function filled({ authType, auth }: HttpDraft): Record<string, string> {
  const entries = authFields[authType].map((name) => [name, auth[name] ?? authDefaults[name] ?? ''] as const);
  const isOptional = (name: string): boolean => name === 'refreshToken' || name === 'scope';
  return {
    ...Object.fromEntries(entries.filter(([name, value]) => value !== '' || !isOptional(name))),
    ...(authType === 'hmac' ? { algorithm: 'sha256' } : {}),
  };
}

/** Which field a refusal is about when the server names only a code. */
const fieldOfCode: Record<string, string> = {
  'tool.exists': '/version',
  'name.taken': '/slug',
  'function.unknown': '/functionImpl/func',
  'host.not_allowed': '/httpImpl/request/urlTemplate',
};

/** The details of a refusal, each with the field it stands beside. */
export function detailsOf(error: unknown): Detail[] {
  if (!(error instanceof ApiError)) return [];
  const field = fieldOfCode[error.code];
  return error.details.length === 0 && field ? [{ path: field, message: error.message }] : error.details;
}

export const problemAt = (details: Detail[], path: string): string | undefined =>
  details.find((detail) => detail.path === path || detail.path.startsWith(`${path}/`))?.message;
