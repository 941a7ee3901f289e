import { timingSafeEqual } from 'node:crypto';

/** Whether a secret is said again; takes as long wherever the two differ, so that nobody can find it out piece by piece. */
export function isSameSecret(said: string, kept: Buffer): boolean {
  const bytes = Buffer.from(said);
  return bytes.length === kept.length && timingSafeEqual(bytes, kept);
}
