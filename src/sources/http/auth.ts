import { createHmac } from 'node:crypto';
import type { HttpAuth } from '../../schema/index.ts';
import { forHeader, forQuery } from './encodings.ts';
import type { BuiltRequest } from './request-plan.ts';
import {
  asText,
  fillText,
  parseTemplate,
  refsOf,
  TemplateProblem,
  type OwnName,
  type Ref,
  type Template,
  type Values,
} from './template.ts';
import { compileUrl, fillUrl } from './url-template.ts';

/** What an OAuth token request needs, filled. */
export interface OauthClient {
  grant: 'client_credentials' | 'refresh_token';
  tokenUrl: string;
  clientId: string;
  /** Absent for a public client. */
  clientSecret?: string;
  refreshToken?: string;
  scope?: string;
  /** The secret that holds the refresh token, when it is one: a server that rotates it hands us its successor. */
  refreshSecret?: string;
}

/** How a request proves who sends it. */
export interface AuthPlan {
  refs: Ref[];
  /** Where the token is asked for (scheme, host, port); checked like any other address. */
  tokenOrigin?: string;
  /** Adds the credentials to a built request; `token` is the OAuth access token. Answers the headers it set. */
  apply(request: BuiltRequest, values: Values, token?: string): string[];
  /** Set for oauth2 alone. */
  client?(values: Values): OauthClient;
}

/** Compiles `request.auth`; all its values are templates. */
export function compileAuth(auth: HttpAuth, declared: ReadonlySet<string>): AuthPlan {
  const refs: Ref[] = [];
  const template = (text: string): Template => {
    const parsed = parseTemplate(text, declared);
    refs.push(...refsOf(parsed));
    return parsed;
  };
  if (auth.type === 'bearer') {
    const value = template(auth.value);
    return {
      refs,
      apply: (request, values) =>
        setHeader(request, 'authorization', prefixed('Bearer ', fillText(value, values, forHeader))),
    };
  }
  if (auth.type === 'basic') {
    const [username, password] = [template(auth.username), template(auth.password)];
    return {
      refs,
      apply: (request, values) =>
        setHeader(
          request,
          'authorization',
          basic(fillText(username, values, asText), fillText(password, values, asText)),
        ),
    };
  }
  if (auth.type === 'apiKey') {
    const [name, value] = [template(auth.name), template(auth.value)];
    return {
      refs,
      apply: (request, values) =>
        applyKey(request, auth.in, fillText(name, values, asText), fillText(value, values, asText)),
    };
  }
  if (auth.type === 'hmac') {
    const [secret, header, payload] = [template(auth.secret), template(auth.header), template(auth.payload)];
    return {
      refs,
      apply(request, values) {
        const own = { ...values, own: (name: OwnName) => ownValue(name, request, values) };
        const [key, text] = [fillText(secret, own, asText), fillText(payload, own, asText)];
        if (key === undefined || text === undefined)
          throw new TemplateProblem('the signature needs a value that was not given');
        return setHeader(request, fillText(header, own, asText), createHmac('sha256', key).update(text).digest('hex'));
      },
    };
  }
  const tokenUrl = compileUrl(auth.tokenUrl, declared);
  refs.push(...tokenUrl.refs);
  const parts = {
    clientId: template(auth.clientId),
    clientSecret: template(auth.clientSecret),
    refreshToken: auth.refreshToken === undefined ? undefined : template(auth.refreshToken),
    scope: auth.scope === undefined ? undefined : template(auth.scope),
  };
  if (auth.grant === 'refresh_token' && !parts.refreshToken)
    throw new TemplateProblem('the grant refresh_token needs refreshToken');
  const [only] = parts.refreshToken ?? [];
  return {
    refs,
    tokenOrigin: tokenUrl.origin,
    apply: (request, _, token) =>
      setHeader(request, 'authorization', prefixed('Bearer ', token === undefined ? undefined : forHeader(token))),
    client: (values) => ({
      grant: auth.grant,
      tokenUrl: fillUrl(tokenUrl, values),
      clientId: needed('clientId', fillText(parts.clientId, values, asText)),
      clientSecret: needed('clientSecret', fillText(parts.clientSecret, values, asText)),
      ...(auth.grant === 'refresh_token' && {
        refreshToken: needed('refreshToken', fillText(parts.refreshToken ?? [], values, asText)),
      }),
      ...(parts.scope && { scope: fillText(parts.scope, values, asText) ?? '' }),
      ...(parts.refreshToken?.length === 1 &&
        typeof only === 'object' &&
        only.kind === 'secret' && { refreshSecret: only.name }),
    }),
  };
}

/** What the request knows of itself; the time is the one that a header of the same request carries. */
export function ownValue(name: OwnName, request: BuiltRequest, values: Values): string {
  if (name === 'timestamp') return values.own?.('timestamp') ?? '';
  if (name === 'method') return request.method;
  if (name === 'body') return request.body ?? '';
  const url = new URL(request.url);
  return url.pathname + url.search;
}

function setHeader(request: BuiltRequest, name: string | undefined, value: string | undefined): string[] {
  if (name === undefined || value === undefined) return [];
  const lower = name.toLowerCase();
  if (!/^[!#$%&'*+\-.^_`|~0-9a-z]+$/.test(lower))
    throw new TemplateProblem('auth: the filled header name is not valid');
  request.headers[lower] = forHeader(value);
  return [lower];
}

function applyKey(
  request: BuiltRequest,
  place: 'header' | 'query',
  name: string | undefined,
  value: string | undefined,
): string[] {
  if (place === 'header') return setHeader(request, name, value);
  if (name !== undefined && value !== undefined)
    request.url += `${request.url.includes('?') ? '&' : '?'}${forQuery(name)}=${forQuery(value)}`;
  return [];
}

const prefixed = (prefix: string, text: string | undefined): string | undefined =>
  text === undefined ? undefined : prefix + text;

function basic(username: string | undefined, password: string | undefined): string | undefined {
  if (username === undefined && password === undefined) return undefined;
  if (username?.includes(':')) throw new TemplateProblem('auth: a user name for basic may hold no colon');
  return `Basic ${Buffer.from(`${username ?? ''}:${password ?? ''}`).toString('base64')}`;
}

function needed(field: string, text: string | undefined): string {
  if (text === undefined) throw new TemplateProblem(`auth.${field} has no value`);
  return text;
}
