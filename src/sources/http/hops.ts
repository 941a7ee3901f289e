import { isIPv4 } from 'node:net';
import type { LookupAddress } from 'node:dns';
import { fail, type Failure } from '../../schema/index.ts';
import type { DialPolicy } from './dialler.ts';
import type { HostRules } from './host-rules.ts';

/** One request on its way through redirects. */
export interface Hop {
  url: URL;
  method: string;
  headers: Record<string, string>;
  body: string | Uint8Array | null;
}

/** Where an answer sends the request on to; undefined when it is no redirect. */
export function redirectTarget(status: number, location: string | string[] | undefined, from: URL): URL | undefined {
  if (![301, 302, 303, 307, 308].includes(status) || location === undefined) return undefined;
  return parseUrl(URL.parse(String(location), from) ?? String(location));
}

/** The request for the next hop: credentials stay behind when the origin changes. */
export function nextHop(hop: Hop, url: URL, status: number, policy: DialPolicy | undefined): Hop {
  const dropsBody =
    status === 303 ? hop.method !== 'HEAD' : (status === 301 || status === 302) && hop.method === 'POST';
  const next: Hop = { ...hop, url };
  if (dropsBody) {
    next.method = 'GET';
    next.body = null;
    next.headers = without(next.headers, ['content-type', 'content-length', 'content-encoding']);
  }
  if (url.origin !== hop.url.origin) {
    if (next.body !== null && policy?.hasSecretBody) throw leavesWithSecret(hop.url, url);
    next.headers = without(next.headers, [
      'authorization',
      'cookie',
      'proxy-authorization',
      ...(policy?.credentialHeaders ?? []),
    ]);
  }
  return next;
}

function without(headers: Record<string, string>, names: readonly string[]): Record<string, string> {
  const gone = new Set(names.map((name) => name.toLowerCase()));
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !gone.has(name.toLowerCase())));
}

/** An http(s) URL without userinfo, or host.not_allowed. */
export function parseUrl(input: string | URL): URL {
  const url = typeof input === 'string' ? URL.parse(input) : input;
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw fail('host.not_allowed', { message: `${shorten(String(input))} is no http:// or https:// address.` });
  if (url.username || url.password)
    throw fail('host.not_allowed', {
      message: `The address for ${url.host} carries a user name or password. Use auth with a secret instead.`,
    });
  return url;
}

const shorten = (text: string): string => (text.length > 100 ? `${text.slice(0, 100)}...` : text);
const portOf = (url: URL): number => Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
const isLiteral = (host: string): boolean => host.startsWith('[') || isIPv4(host);

/** Asks both questions that can be asked before dialling; throws host.not_allowed. */
export function checkUrl(url: URL, rules: HostRules): void {
  const port = portOf(url);
  if (!rules.mayAsk(url.hostname, port)) throw notListed(url);
  if (isLiteral(url.hostname) && !rules.mayDial(url.hostname, url.hostname, port)) throw notListed(url);
}

function notListed(url: URL): Failure {
  const entry = url.host.startsWith('[') ? JSON.stringify(url.host) : url.host;
  return fail('host.not_allowed', { host: url.host, entry });
}

export function forbiddenAddress(host: string, port: number, addresses: LookupAddress[]): Failure {
  const address = addresses[0]?.address ?? '';
  return fail('host.not_allowed', {
    message: `Host ${host} leads to the private address ${address} (port ${port}), which is not in allowedHosts. If that is meant, add it to config.yaml: allowedHosts: ["${address}"]`,
  });
}

function leavesWithSecret(from: URL, to: URL): Failure {
  return fail('host.not_allowed', {
    message: `${from.host} redirects to ${to.host}, but the body carries a secret that may not follow.`,
  });
}

export function tooManyRedirects(url: URL, followed: number): Failure {
  return fail('tool.failed', {
    reason: `${url.host} redirects once more after ${followed} redirects; that is not followed.`,
  });
}
