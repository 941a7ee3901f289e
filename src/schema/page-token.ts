import { createHmac, timingSafeEqual } from 'node:crypto';
import { fail } from './errors.ts';

/** Opaque, authenticated page tokens: they carry their list's filters and the place where the next page starts. */
export interface PageTokens {
  make(list: string, state: unknown): string;
  /** Throws page_token.invalid for anything this list did not make. */
  read<T>(list: string, token: string): T;
}

export function pageTokens(key: Buffer): PageTokens {
  const sign = (payload: string): Buffer => createHmac('sha256', key).update(payload).digest().subarray(0, 16);
  return {
    make(list, state) {
      const payload = Buffer.from(JSON.stringify([list, state])).toString('base64url');
      return `${payload}.${sign(payload).toString('base64url')}`;
    },
    read<T>(list: string, token: string): T {
      const [payload = '', signature = '', ...rest] = token.split('.');
      const given = Buffer.from(signature, 'base64url');
      const right = sign(payload);
      // Another spelling of the same bytes is not the token that we issued.
      const isOurs =
        rest.length === 0 &&
        given.length === right.length &&
        timingSafeEqual(given, right) &&
        given.toString('base64url') === signature;
      if (!isOurs) throw fail('page_token.invalid');
      const [madeBy, state] = JSON.parse(Buffer.from(payload, 'base64url').toString()) as [string, T];
      if (madeBy !== list) throw fail('page_token.invalid');
      return state;
    },
  };
}
