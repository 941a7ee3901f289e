import { createHash } from 'node:crypto';
import { functionName } from '../../schema/index.ts';

const longestSlug = 64;
const hash8 = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 8);

/** A server's or tool's name as a slug: what is no letter or digit becomes a dash, so it reads as an underscore in names. */
export function slugOf(name: string): string {
  const runes = [...name.toWellFormed().replace(/[^\p{L}\p{Nd}]/gu, '-')];
  const slug =
    runes.length > longestSlug ? `${runes.slice(0, longestSlug - 9).join('')}-${hash8(name)}` : runes.join('');
  return /^\p{Nd}/u.test(slug) ? `-${slug}`.slice(0, longestSlug) : slug;
}

/**
 * One slug per upstream name, the same whatever the order of the list. Where several names read alike
 * (`a-b`, `a_b`; `class`, `class_`), the one that is written with underscores keeps the plain form and the others get a hash.
 */
export function toolSlugs(names: Iterable<string>): Map<string, string> {
  const alike = new Map<string, string[]>();
  for (const name of new Set(names)) {
    const form = functionName(slugOf(name));
    const others = alike.get(form);
    if (others) others.push(name);
    else alike.set(form, [name]);
  }
  const slugs = new Map<string, string>();
  for (const group of alike.values()) {
    group.sort((a, b) => Number(isPlain(b)) - Number(isPlain(a)) || (a < b ? -1 : 1));
    group.forEach((name, at) => {
      const slug = slugOf(name);
      slugs.set(name, at === 0 ? slug : `${[...slug].slice(0, longestSlug - 9).join('')}-${hash8(name)}`);
    });
  }
  return slugs;
}

const isPlain = (name: string): boolean => /^[\p{L}\p{Nd}_]+$/u.test(name);
