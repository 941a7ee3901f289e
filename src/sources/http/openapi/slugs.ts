/** Readable slugs of at most 64 letters, digits and dashes, each given once. */
export class Slugs {
  readonly #taken = new Set<string>();

  /** The first of the wishes that is free; else the first one with a number. */
  take(...wishes: (string | undefined)[]): string {
    let first: string | undefined;
    for (const wish of wishes) {
      const slug = slugify(wish ?? '');
      if (slug === '') continue;
      if (!this.#taken.has(slug)) return this.#keep(slug);
      first ??= slug;
    }
    const base = first ?? 'operation';
    for (let count = 2; ; count++) {
      const numbered = `${cut(base, 60)}-${count}`;
      if (!this.#taken.has(numbered)) return this.#keep(numbered);
    }
  }

  #keep(slug: string): string {
    this.#taken.add(slug);
    return slug;
  }
}

/** `getPetById` and `get_pet.by id` both become `get-pet-by-id`; the same text always becomes the same slug. */
export function slugify(text: string, max = 64): string {
  const words = text
    .replace(/(\p{Ll}|\p{Nd})(\p{Lu})/gu, '$1-$2')
    .replace(/(\p{Lu}+)(\p{Lu}\p{Ll})/gu, '$1-$2')
    .replace(/[^\p{L}\p{Nd}]+/gu, '-')
    .toLowerCase()
    // Lower-casing may bring marks that a slug cannot hold.
    .replace(/[^\p{L}\p{Nd}-]+/gu, '');
  return cut(words.replace(/^-+|-+$/g, ''), max);
}

/** At most `max` code points, without a dangling piece of a word if that leaves enough. */
function cut(slug: string, max: number): string {
  if (slug.length <= max) return slug;
  const runes = [...slug];
  if (runes.length <= max) return slug;
  const head = runes.slice(0, max).join('');
  const whole = head.replace(/-[^-]*$/, '');
  return (whole.length >= max / 2 ? whole : head).replace(/-+$/, '');
}
