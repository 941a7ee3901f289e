/** What newer engines have and the language's types do not yet name. */
const engine = JSON as unknown as {
  parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown;
  rawJSON?: (text: string) => object;
};

const longInteger = /^-?\d{16,}$/;

/**
 * JSON.parse for what is only shown: JSON.stringify writes integers that a number would round as they stand there. A browser
 * that cannot do that rounds them.
 */
export function parseExactly(text: string): unknown {
  const { rawJSON } = engine;
  if (!rawJSON || !/\d{16}/.test(text)) return JSON.parse(text);
  return engine.parse(text, (_key, value, { source = '' }) =>
    longInteger.test(source) && String(value) !== source ? rawJSON(source) : value,
  );
}
