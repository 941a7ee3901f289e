/** A JSON value as Python writes it: `True`, `None`, `'text'`. */
export function pythonLiteral(value: unknown): string {
  if (value === null || value === undefined) return 'None';
  if (value === true) return 'True';
  if (value === false) return 'False';
  if (typeof value === 'string') return pythonString(value);
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(', ')}]`;
  const entries = Object.entries(value as object).map(([key, item]) => `${pythonString(key)}: ${pythonLiteral(item)}`);
  return `{${entries.join(', ')}}`;
}

/** A string literal in single quotes, or in double quotes when that spares escapes. */
export function pythonString(text: string): string {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  return mark + escapeInString(text, mark) + mark;
}

/** Escapes `text` so that inside a Python string with these quotes it means exactly itself. */
export function escapeInString(text: string, mark: string): string {
  return text.replace(/[\\\u0000-\u001f\u007f\u2028\u2029'"]/g, (char) => {
    if (char === '\\') return '\\\\';
    if (char === '\n') return '\\n';
    if (char === '\r') return '\\r';
    if (char === '\t') return '\\t';
    if (char === "'" || char === '"') return char === mark[0] ? `\\${char}` : char;
    return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
