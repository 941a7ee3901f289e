import { isObject, textOf, type HttpAuth } from '../../../schema/index.ts';
import type { ApiDocument, Value } from './document.ts';
import { upper } from './secret-names.ts';

/** A secret that the imported tools use, and what a person should put into it. */
export interface NeededSecret {
  name: string;
  description: string;
}

/** Credentials of one operation in the words of a tool. */
export interface Credentials {
  auth?: HttpAuth;
  headers: Record<string, string>;
  query: Record<string, string>;
  secrets: NeededSecret[];
  /** Where tokens are asked for. */
  hosts: string[];
  notes: string[];
}

type Part = { auth?: HttpAuth; header?: [string, string]; query?: [string, string]; secrets: NeededSecret[] };

/** The first alternative of `security` that can be expressed; an operation that may be called without gets none. */
export function credentialsOf(
  document: ApiDocument,
  operation: Value,
  parameters: readonly Value[],
  prefix: string,
): Credentials {
  const made = describedCredentials(document, operation, prefix);
  const isBare = !made.auth && Object.keys(made.headers).length === 0;
  const asked = parameters.find((each) => each['in'] === 'header' && /^authorization$/i.test(textOf(each['name'])));
  // Some documents know no other way to say that one must sign in.
  if (isBare && asked?.['required'] === true) {
    const name = `${prefix}_AUTHORIZATION`;
    made.headers['Authorization'] = `\${${name}}`;
    made.secrets.push({ name, description: 'the whole Authorization header' });
  }
  return made;
}

/** True for a parameter that would say what the credentials say already. */
export function isSaidBy({ auth, headers, query }: Credentials, { in: place, name }: Value): boolean {
  if (place === 'cookie')
    return (headers['Cookie'] ?? '').split('; ').some((each) => each.startsWith(`${textOf(name)}=`));
  if (place !== 'query' && place !== 'header') return false;
  const said = Object.keys(place === 'query' ? query : headers);
  if (auth?.type === 'apiKey' && auth.in === place) said.push(auth.name);
  return said.some((each) => each.toLowerCase() === textOf(name).toLowerCase());
}

function describedCredentials(document: ApiDocument, operation: Value, prefix: string): Credentials {
  const wanted = Array.isArray(operation['security']) ? operation['security'] : document.root['security'];
  const alternatives = Array.isArray(wanted) ? wanted.filter(isObject) : [];
  if (alternatives.length === 0 || alternatives.some((each) => Object.keys(each).length === 0)) return join([]);
  const problems: string[] = [];
  for (const alternative of alternatives) {
    const parts = Object.entries(alternative).map(([name, scopes]) => partOf(document, name, scopes, prefix));
    const problem = parts.find((part) => typeof part === 'string');
    if (problem === undefined) return join(parts as Part[]);
    problems.push(problem as string);
  }
  return { ...join([]), notes: [`sent without credentials: ${problems[0]}`] };
}

function join(parts: Part[]): Credentials {
  const made: Credentials = { headers: {}, query: {}, secrets: [], hosts: [], notes: [] };
  for (const part of parts) {
    made.secrets.push(...part.secrets);
    if (part.header) {
      const [name, value] = part.header;
      made.headers[name] = name === 'Cookie' && made.headers[name] ? `${made.headers[name]}; ${value}` : value;
    }
    if (part.query) made.query[part.query[0]] = part.query[1];
    if (!part.auth) continue;
    if (!made.auth) {
      made.auth = part.auth;
      if (part.auth.type === 'oauth2') made.hosts.push(new URL(part.auth.tokenUrl).host);
    } else if (part.auth.type === 'apiKey')
      (part.auth.in === 'header' ? made.headers : made.query)[part.auth.name] = part.auth.value;
    else made.notes.push('two ways to sign in are wanted at once; the first one is used');
  }
  return made;
}

function partOf(document: ApiDocument, name: string, scopes: unknown, prefix: string): Part | string {
  const schemes = document.isSwagger2
    ? document.root['securityDefinitions']
    : (document.root['components'] as Value | undefined)?.['securitySchemes'];
  const scheme = isObject(schemes) ? document.resolve(schemes[name]) : undefined;
  if (!scheme) return `the security scheme ${name} is not described`;
  const secret = (ending: string): string => `${prefix}_${upper(name) || 'API'}${ending}`.replace(/(_[A-Z]+)\1$/, '$1');
  const type = textOf(scheme['type']).toLowerCase();
  if (type === 'apikey') return apiKey(scheme, secret(''));
  if (type === 'basic' || (type === 'http' && /^basic$/i.test(textOf(scheme['scheme'])))) {
    const holder = secret('_BASIC');
    return {
      header: ['Authorization', `Basic \${${holder}}`],
      secrets: [{ name: holder, description: 'base64 of user:password' }],
    };
  }
  if (type === 'http' && /^bearer$/i.test(textOf(scheme['scheme']))) return bearer(secret('_TOKEN'), 'a bearer token');
  if (type === 'oauth2') return oauth(scheme, scopes, secret);
  if (type === 'openidconnect') return bearer(secret('_TOKEN'), 'an access token');
  return `signing in by ${textOf(scheme['scheme'] ?? scheme['type']).slice(0, 40)} is not supported`;
}

function apiKey(scheme: Value, holder: string): Part | string {
  const { name } = scheme;
  const secrets = [{ name: holder, description: `the API key (${textOf(scheme['in'])} ${textOf(name)})` }];
  if (typeof name !== 'string' || name === '') return 'an API key without a name';
  if (scheme['in'] === 'cookie') return { header: ['Cookie', `${literal(name)}=\${${holder}}`], secrets };
  if (scheme['in'] === 'query')
    return { auth: { type: 'apiKey', in: 'query', name: literal(name), value: `\${${holder}}` }, secrets };
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name))
    return `the header ${JSON.stringify(name.slice(0, 40))} cannot be sent`;
  return { auth: { type: 'apiKey', in: 'header', name: literal(name), value: `\${${holder}}` }, secrets };
}

function bearer(holder: string, description: string): Part {
  return { auth: { type: 'bearer', value: `\${${holder}}` }, secrets: [{ name: holder, description }] };
}

/** Only a client that signs in for itself can renew its token unattended; of all other flows the token itself is the secret. */
function oauth(scheme: Value, scopes: unknown, secret: (ending: string) => string): Part {
  // Swagger 2 has one flow, whose fields lie in the scheme itself.
  const flatFlow = scheme['flow'] === 'application' ? scheme : undefined;
  const flow = isObject(scheme['flows']) ? scheme['flows']['clientCredentials'] : flatFlow;
  const tokenUrl = isObject(flow) ? flow['tokenUrl'] : undefined;
  if (
    typeof tokenUrl !== 'string' ||
    !URL.canParse(tokenUrl) ||
    !/^https?:\/\/[^/{}@\s]+(\/|$)/.test(tokenUrl) ||
    tokenUrl.includes('${')
  )
    return bearer(secret('_TOKEN'), 'an OAuth access token');
  const scope = Array.isArray(scopes) ? scopes.filter((each) => typeof each === 'string').join(' ') : '';
  const [clientId, clientSecret] = [secret('_CLIENT_ID'), secret('_CLIENT_SECRET')];
  return {
    auth: {
      type: 'oauth2',
      grant: 'client_credentials',
      tokenUrl,
      clientId: `\${${clientId}}`,
      clientSecret: `\${${clientSecret}}`,
      ...(scope !== '' && { scope: literal(scope) }),
    },
    secrets: [
      { name: clientId, description: 'the OAuth client id' },
      { name: clientSecret, description: 'the OAuth client secret' },
    ],
  };
}

/** A text in which nothing is a placeholder. */
export const literal = (text: string): string => text.replaceAll('${', () => '$${');
