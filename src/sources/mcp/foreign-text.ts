const longest = 1000;
// Control characters but tab and newline, bidirectional overrides, zero-width and tag characters.
const unwanted =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** Text of an upstream server as a model may see it: no hidden characters, at most 1,000 of the others. */
export function cleanText(text: string, max = longest): string {
  const clean = text.toWellFormed().replace(unwanted, '');
  return clean.length > max ? `${clean.slice(0, max - 1).toWellFormed()}…` : clean;
}

/** The same schema with every title and description cleaned; property names and values stay as they are. */
export function cleanSchema<T>(schema: T, depth = 0): T {
  if (depth > 100 || typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map((each) => cleanSchema(each, depth + 1)) as T;
  const clean: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(schema)) {
    const isText = (key === 'description' || key === 'title') && typeof value === 'string';
    const cleaned = isText ? cleanText(value) : cleanSchema(value, depth + 1);
    // A key such as `__proto__` must stay a key.
    Object.defineProperty(clean, key, { value: cleaned, enumerable: true, writable: true, configurable: true });
  }
  return clean as T;
}
