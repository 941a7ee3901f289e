const maxNames = 12;

/** One line about what a value is like: `list of 1000 dict(id, name)`, `dict(rows, total)`, `text of 5000 characters`. */
export function shapeOf(value: unknown): string {
  return describe(value, true);
}

function describe(value: unknown, isTop: boolean): string {
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'string') return isTop ? `text of ${value.length} characters` : 'str';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int' : 'float';
  if (typeof value === 'bigint') return 'int';
  if (typeof value === 'boolean') return 'bool';
  if (Array.isArray(value) || value instanceof Set) return describeList([...value]);
  return describeDict(value instanceof Map ? value : new Map(Object.entries(value)), isTop);
}

function describeList(items: readonly unknown[]): string {
  const kinds = new Set(items.slice(0, 100).map((item) => describe(item, false)));
  const [kind = 'nothing', another] = kinds;
  if (another !== undefined) return `list of ${items.length} mixed values`;
  return `list of ${items.length} ${kind}`;
}

function describeDict(entries: ReadonlyMap<unknown, unknown>, isTop: boolean): string {
  const names = [...entries.keys()].slice(0, maxNames).map(String);
  const more = entries.size > maxNames ? `, and ${entries.size - maxNames} more` : '';
  if (!isTop) return `dict(${names.join(', ')}${more})`;
  const parts = names.map((name) => {
    const inner = entries.get(name);
    return typeof inner === 'object' && inner !== null ? `${name}: ${describe(inner, false)}` : name;
  });
  return `dict(${parts.join(', ')}${more})`;
}
