import { search, type JSONValue } from '@jmespath-community/jmespath';
import Papa from 'papaparse';
import { parseDocument, stringify } from 'yaml';
import { isObject, pointerKey, pointerStep, valueAt } from '../../schema/json.ts';

export type Format = 'json' | 'yaml' | 'csv' | 'value';

export interface ConvertArgs {
  data: unknown;
  source: Format;
  target: Format;
  delimiter: string;
}

const maxChanges = 10_000;

/** What the data bundle computes; pure, run in a thread. */
export const dataTasks = {
  'data.query': ({ data, query }: { data: unknown; query: string }) => {
    if (query === '' || query.startsWith('/')) return atPointer(data, query);
    try {
      return search(data as JSONValue, query) ?? null;
    } catch (error) {
      throw new Error(
        `Invalid query: ${(error as Error).message}. Use JMESPath (people[?age > \`20\`].name) or a JSON Pointer (/people/0/name).`,
        { cause: error },
      );
    }
  },

  'data.validate': async ({ data, schema }: { data: unknown; schema: unknown }) => {
    // Loaded when it is needed: the other tasks start several times faster without it.
    const { compileSchema } = await import('../../schema/index.ts');
    const compiled = compileSchema(schema, { at: '/schema' });
    const checked = compiled.check(data, '');
    const unchecked = compiled.uncheckedPatterns.length > 0 && { unchecked_patterns: [...compiled.uncheckedPatterns] };
    return checked.ok
      ? { valid: true, errors: [], ...unchecked }
      : { valid: false, errors: checked.errors, ...unchecked };
  },

  'data.diff': ({ before, after }: { before: unknown; after: unknown }) => {
    const changes: object[] = [];
    compare(before, after, '', changes);
    return {
      is_equal: changes.length === 0,
      changes: changes.slice(0, maxChanges),
      truncated: changes.length > maxChanges,
    };
  },

  'data.convert': ({ data, source, target, delimiter }: ConvertArgs) =>
    written(parsed(data, source, delimiter), target, delimiter),
};

const atPointer = (data: unknown, pointer: string): unknown =>
  valueAt(data, pointer.split('/').slice(1).map(pointerKey)) ?? null;

/** Changes in the form of JSON Patch, each replaced or removed value beside it. */
function compare(before: unknown, after: unknown, path: string, changes: object[]): void {
  if (Object.is(before, after) || changes.length > maxChanges) return;
  const bothLists = Array.isArray(before) && Array.isArray(after);
  if (!bothLists && !(isObject(before) && isObject(after))) {
    changes.push({ op: 'replace', path, value: after, before });
    return;
  }
  const [old, now] = [before as Record<string, unknown>, after as Record<string, unknown>];
  for (const key of new Set([...Object.keys(old), ...Object.keys(now)])) {
    const at = `${path}/${pointerStep(key)}`;
    if (!Object.hasOwn(now, key)) changes.push({ op: 'remove', path: at, before: old[key] });
    else if (!Object.hasOwn(old, key)) changes.push({ op: 'add', path: at, value: now[key] });
    else compare(old[key], now[key], at, changes);
  }
}

function parsed(data: unknown, from: Format, delimiter: string): unknown {
  if (from === 'value') return data;
  if (typeof data !== 'string')
    throw new Error(`data must be text when source is "${from}". Use source="value" for a value.`);
  if (from === 'json') return fromJson(data);
  return from === 'yaml' ? fromYaml(data) : fromCsv(data, delimiter);
}

function fromJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`This is not JSON: ${(error as Error).message}`, { cause: error });
  }
}

function fromYaml(text: string): unknown {
  const doc = parseDocument(text, { prettyErrors: true, logLevel: 'error' });
  if (doc.errors[0]) throw new Error(`This is not YAML: ${doc.errors[0].message.split('\n')[0]}`);
  return doc.toJS({ maxAliasCount: 100 });
}

function fromCsv(text: string, delimiter: string): unknown {
  const { data, errors, meta } = Papa.parse<Record<string, string>>(text, {
    header: true,
    delimiter,
    skipEmptyLines: true,
  });
  const broken = errors.find((error) => error.type !== 'FieldMismatch');
  if (broken)
    throw new Error(`This is not CSV: ${broken.message}${broken.row === undefined ? '' : ` (row ${broken.row + 1})`}`);
  const columns = meta.fields ?? [];
  const hasMore = data.some((row) => row['__parsed_extra'] !== undefined);
  // What has a meaning of its own in a row would take the place of the cells.
  const lost = columns.find((name) => name === '__proto__' || (name === 'extra' && hasMore));
  if (lost !== undefined) throw new Error(`The column ${lost} would be lost. Give it another name in the first line.`);
  return data.map(({ __parsed_extra: extra, ...row }) => (extra === undefined ? row : { ...row, extra }));
}

function written(value: unknown, to: Format, delimiter: string): unknown {
  if (to === 'value') return value;
  if (to === 'json') return JSON.stringify(value, null, 2);
  if (to === 'yaml') return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });
  const rows = Array.isArray(value) ? value : [value];
  if (!rows.every(isObject) && !rows.every(Array.isArray))
    throw new Error('CSV needs a list of objects, or a list of lists. Pick the list with data.query first.');
  const plain = rows.map((row) =>
    isObject(row)
      ? Object.fromEntries(Object.entries(row).map(([key, cell]) => [key, flat(cell)]))
      : (row as unknown[]).map(flat),
  );
  const columns = rows.every(isObject) ? [...new Set(rows.flatMap((row) => Object.keys(row as object)))] : undefined;
  return Papa.unparse(plain as object[], { delimiter, ...(columns && { columns }) });
}

const flat = (cell: unknown): unknown => (typeof cell === 'object' && cell !== null ? JSON.stringify(cell) : cell);
