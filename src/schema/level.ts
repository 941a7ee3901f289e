import { Type, type Static } from 'typebox';

/** What a token may do: write includes read, admin includes all. */
export const Level = Type.Union([Type.Literal('read'), Type.Literal('write'), Type.Literal('admin')]);
export type Level = Static<typeof Level>;

const rank: Record<Level, number> = { read: 0, write: 1, admin: 2 };

/** True when `have` reaches `need`. */
export function reaches(have: Level, need: Level): boolean {
  return rank[have] >= rank[need];
}

/** The higher of two levels: a stored `access` may raise a level, never lower it. */
export function higher(a: Level, b: Level): Level {
  return rank[a] >= rank[b] ? a : b;
}
