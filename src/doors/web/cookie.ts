import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SignIns } from '../../auth/index.ts';
import type { Actor } from '../../schema/index.ts';

/** The cookie of a signed-in browser; undefined when there is none. */
export function cookieOf(request: FastifyRequest, name: string): string | undefined {
  for (const part of (request.headers.cookie ?? '').split(';')) {
    const [key, value] = part.trim().split('=', 2);
    if (key === name && value) return value;
  }
  return undefined;
}

/** Who a signed-in browser is. Throws auth.required when its cookie stands alone or is too old. */
export async function webActor(request: FastifyRequest, cookie: string, signIns: SignIns): Promise<Actor> {
  return (await signIns.authenticate(cookie, csrfOf(request))).actor;
}

export const csrfOf = (request: FastifyRequest): string | undefined => {
  const header = request.headers['x-oubliette-csrf'];
  return typeof header === 'string' && header !== '' ? header : undefined;
};

export function setCookie(
  reply: FastifyReply,
  name: string,
  value: string,
  maxAgeSeconds: number,
  isSecure: boolean,
): void {
  const parts = [`${name}=${value}`, 'Path=/', 'HttpOnly', 'SameSite=Strict', `Max-Age=${maxAgeSeconds}`];
  if (isSecure) parts.push('Secure');
  void reply.header('Set-Cookie', parts.join('; '));
}
