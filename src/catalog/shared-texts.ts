const most = 20_000;
const texts = new Map<string, string>();

/**
 * The same text as one object: a hundred thousand tools repeat a few versions, types, bundles and tags. Texts that
 * seldom repeat do not belong here.
 */
export function shared<T extends string>(text: T): T {
  const known = texts.get(text);
  if (known !== undefined) return known as T;
  if (texts.size < most) texts.set(text, text);
  return text;
}
