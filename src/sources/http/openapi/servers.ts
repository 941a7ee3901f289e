import { isObject, textOf } from '../../../schema/index.ts';
import type { ApiDocument, Value } from './document.ts';

/** Where an operation is sent, or why that cannot be said. */
export type Base = { origin: string; path: string; host: string } | { problem: string };

/** The first server that has an absolute http(s) address: of the operation, of its path, of the document, or relative to where it came from. */
export function baseOf(document: ApiDocument, pathItem: Value, operation: Value, from: string | undefined): Base {
  const candidates = document.isSwagger2
    ? swaggerServers(document.root, operation)
    : openApiServers(document, pathItem, operation);
  const problems: string[] = [];
  for (const candidate of candidates.length > 0 ? candidates : ['/']) {
    const base = absolute(candidate, from);
    if ('origin' in base) return base;
    problems.push(base.problem);
  }
  return { problem: problems[0] ?? 'the document names no server' };
}

function openApiServers(document: ApiDocument, pathItem: Value, operation: Value): string[] {
  const lists = [operation['servers'], pathItem['servers'], document.root['servers']];
  const servers = lists.find((list) => Array.isArray(list) && list.length > 0) as unknown[] | undefined;
  return (servers ?? []).filter(isObject).map((server) => fillVariables(textOf(server['url']), server['variables']));
}

function fillVariables(url: string, variables: unknown): string {
  return url.replace(/\{([^{}]+)\}/g, (whole, name: string) => {
    const variable = isObject(variables) ? variables[name] : undefined;
    if (!isObject(variable)) return whole;
    const first: unknown = variable['default'] ?? (Array.isArray(variable['enum']) ? variable['enum'][0] : undefined);
    return first === undefined ? whole : textOf(first);
  });
}

function swaggerServers(root: Value, operation: Value): string[] {
  const host = textOf(root['host']).trim();
  const basePath = textOf(root['basePath']).replace(/^\/*/, '/');
  if (host === '') return [basePath];
  // Some write a whole address.
  if (/^https?:\/\//i.test(host)) return [host.replace(/\/*$/, '') + basePath];
  const schemes = [operation['schemes'], root['schemes']].find((list) => Array.isArray(list) && list.length > 0) as
    unknown[] | undefined;
  const scheme = schemes?.includes('https') || !schemes?.includes('http') ? 'https' : 'http';
  return [`${scheme}://${host}${basePath}`];
}

function absolute(text: string, from: string | undefined): Base {
  const trimmed = text.trim();
  const url = URL.parse(trimmed.startsWith('//') ? `https:${trimmed}` : trimmed || '/', from);
  if (!url)
    return {
      problem: `the server ${JSON.stringify(trimmed.slice(0, 100))} has no host. Say where the API is with base_url (--base-url)`,
    };
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return { problem: `the server speaks ${url.protocol.slice(0, -1)}, not http` };
  if (/[{}]|%7B|%7D/i.test(url.host))
    return { problem: `the server's host ${url.host.slice(0, 100)} has a variable without a default` };
  if (url.username || url.password) return { problem: 'the address of the server carries a password' };
  const path = decodeBraces(url.pathname).replace(/\/+$/, '');
  return { origin: url.origin, path, host: url.host };
}

const decodeBraces = (path: string): string => path.replace(/%7B/gi, '{').replace(/%7D/gi, '}');
