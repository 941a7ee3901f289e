import type { FastifyRequest } from 'fastify';
import type { SignIns, Tokens } from '../../auth/index.ts';
import type { Actor } from '../../schema/index.ts';

/** What a page can follow, by topic: each calls the listener when something changed. */
export type Topics = Record<string, (listener: () => void) => () => void>;

export interface WebDeps {
  /** Bearer or cookie, as for every other route. */
  authenticate: (request: FastifyRequest) => Promise<Actor>;
  signIns: SignIns;
  tokens: Tokens;
  /** Tells several servers on one host apart: cookies ignore ports. */
  cookieName: string;
  /** Where the built app lies; it may be missing. */
  folder: string;
  version: string;
  /** The address people reach us by. */
  publicUrl: () => string;
  topics: Topics;
}
