import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { fail, type Settings } from '../../schema/index.ts';

/**
 * A page of another site can make a browser reach us by a name it controls (DNS rebinding): only our own names
 * are answered. Throws origin.refused.
 */
export function checkHost(request: FastifyRequest, publicUrl: string | undefined): void {
  if (!isOwnHost(request, publicUrl))
    throw fail('origin.refused', {
      message: `Requests to host ${request.headers.host?.slice(0, 100) ?? '(none)'} are refused. If it is a name of this server, set http.publicUrl in config.yaml.`,
    });
}

/** True when there is nothing about the Host and Origin of a request that one would have to refuse or to answer. */
export function isOrdinary(request: IncomingMessage, { publicUrl, allowedOrigins }: Settings['http']): boolean {
  return request.headers.origin === undefined && allowedOrigins.length === 0 && isOwnHost(request, publicUrl);
}

type Asking = Pick<IncomingMessage, 'headers' | 'socket'>;

function isOwnHost(request: Asking, publicUrl: string | undefined): boolean {
  if (ownHost.test(request.headers.host ?? '')) return true;
  const host = hostName(request.headers.host ?? '');
  return host !== undefined && isOurs(host, request, publicUrl);
}

const ownHost = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

/** A browser says where a request comes from; nothing but our own pages and listed origins may ask. */
export function checkOrigin(request: FastifyRequest, http: Settings['http']): void {
  const { origin } = request.headers;
  if (origin === undefined || http.allowedOrigins.includes(origin)) return;
  if (origin === `${request.protocol}://${request.headers.host}`) return;
  if (http.publicUrl !== undefined && originOf(http.publicUrl) === origin) return;
  throw fail('origin.refused', { origin: origin.slice(0, 100) });
}

/** Lets pages of the listed origins read our answers. For bearer use only: cookies never cross origins. */
export function allowOrigin(request: FastifyRequest, reply: FastifyReply, { allowedOrigins }: Settings['http']): void {
  if (allowedOrigins.length === 0) return;
  void reply.header('Vary', 'Origin');
  const { origin } = request.headers;
  if (origin === undefined || !allowedOrigins.includes(origin)) return;
  void reply.header('Access-Control-Allow-Origin', origin);
  void reply.header('Access-Control-Expose-Headers', 'Mcp-Session-Id, Retry-After');
  if (request.method !== 'OPTIONS') return;
  void reply.header('Access-Control-Allow-Methods', 'GET, PUT, PATCH, POST, DELETE');
  const asked = request.headers['access-control-request-headers'];
  if (asked !== undefined) void reply.header('Access-Control-Allow-Headers', asked);
}

/** What a browser asks before it sends a request to another origin. */
export const isPreflight = ({ method, headers }: FastifyRequest): boolean =>
  method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined;

function isOurs(host: string, request: Asking, publicUrl: string | undefined): boolean {
  if (publicUrl !== undefined && hostName(originOf(publicUrl).replace(/^\w+:\/\//, '')) === host) return true;
  const local = request.socket.localAddress?.replace(/^::ffff:/, '');
  return isIP(host) !== 0 && host === local;
}

/** The name without the port; undefined when it is no host at all. */
function hostName(host: string): string | undefined {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:@/\\\s]+))(?::\d{1,5})?$/.exec(host);
  return (match?.[1] ?? match?.[2])?.toLowerCase();
}

function originOf(url: string): string {
  try {
    return new URL(url).origin;
  } catch {
    return '';
  }
}
