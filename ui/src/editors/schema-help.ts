import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import { syntaxTree } from '@codemirror/language';
import type { Diagnostic } from '@codemirror/lint';
import type { EditorState } from '@codemirror/state';
import type { EditorView } from '@codemirror/view';
import { lostInTool, tooLong } from '../form/long-integer.ts';
import { t } from '../texts/index.ts';

const keywords = [
  'type',
  'properties',
  'required',
  'description',
  'title',
  'default',
  'examples',
  'enum',
  'const',
  'items',
  'prefixItems',
  'additionalProperties',
  'oneOf',
  'anyOf',
  'allOf',
  'not',
  '$ref',
  '$defs',
  'definitions',
  '$schema',
  'format',
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
  'patternProperties',
  'if',
  'then',
  'else',
];
const types = ['string', 'number', 'integer', 'boolean', 'array', 'object', 'null'];
const formats = ['date-time', 'date', 'time', 'email', 'uri', 'uuid', 'ipv4', 'ipv6', 'hostname', 'regex'];

/** Completes schema keywords where a key stands, and known words where the value of `type` or `format` stands. */
export function completeSchema(context: CompletionContext): CompletionResult | null {
  const line = context.state.doc.lineAt(context.pos);
  const before = line.text.slice(0, context.pos - line.from);
  const value = /"(type|format)"\s*:\s*"?([\w-]*)$/.exec(before);
  if (value) {
    const options = (value[1] === 'type' ? types : formats).map((label): Completion => ({
      label,
      type: 'enum',
      apply: before.endsWith('"') || /"[\w-]+$/.test(before) ? label : `"${label}"`,
    }));
    return { from: context.pos - (value[2]?.length ?? 0), options };
  }
  const key = /(^|[{,\s])"?(\$?\w*)$/.exec(before);
  if (!key || /:\s*"?[\w-]*$/.test(before) || (!context.explicit && !before.trimEnd().endsWith('"') && !key[2]))
    return null;
  const isQuoted = /"\$?\w*$/.test(before);
  return {
    from: context.pos - (key[2]?.length ?? 0),
    options: keywords.map((label): Completion => ({
      label,
      type: 'property',
      apply: isQuoted ? label : `"${label}": `,
    })),
  };
}

/** Problems of a schema at their place: broken JSON, integers that would become others, unknown types, names that are required but not there, bad patterns and references. */
export function checkSchema(view: EditorView): Diagnostic[] {
  const text = view.state.doc.toString();
  if (text.trim() === '') return [];
  let root: unknown;
  try {
    root = JSON.parse(text);
  } catch (error) {
    const at = errorPlace(view.state);
    return [
      {
        from: at,
        to: Math.min(at + 1, view.state.doc.length),
        severity: 'error',
        message: error instanceof Error ? error.message : String(error),
      },
    ];
  }
  const found = lostInTool(text).map(({ digits, from }): Diagnostic => ({
    from,
    to: from + digits.length,
    severity: 'error',
    message: tooLong(digits),
  }));
  const report = (pointer: string, message: string): void => {
    const place = placeOf(view.state, pointer);
    found.push({ ...place, severity: 'error', message });
  };
  if (typeof root !== 'boolean' && (typeof root !== 'object' || root === null || Array.isArray(root)))
    report('', t('schema.notObject'));
  else walk(root, root, '', report, 0);
  return found;
}

function walk(
  schema: unknown,
  root: unknown,
  pointer: string,
  report: (pointer: string, message: string) => void,
  depth: number,
): void {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema) || depth > 30) return;
  const each = schema as Record<string, unknown>;
  for (const type of Array.isArray(each['type']) ? each['type'] : 'type' in each ? [each['type']] : [])
    if (!types.includes(String(type))) report(`${pointer}/type`, t('schema.unknownType', { type: String(type) }));
  const properties = each['properties'];
  if (Array.isArray(each['required']) && properties && typeof properties === 'object')
    for (const name of each['required'])
      if (!Object.hasOwn(properties, String(name)))
        report(`${pointer}/required`, t('schema.requiredMissing', { name: String(name) }));
  if (typeof each['pattern'] === 'string')
    try {
      new RegExp(each['pattern'], 'u');
    } catch {
      report(`${pointer}/pattern`, t('schema.badPattern'));
    }
  if (typeof each['$ref'] === 'string' && each['$ref'].startsWith('#/') && !leadsSomewhere(root, each['$ref']))
    report(`${pointer}/$ref`, t('schema.badRef', { ref: each['$ref'] }));
  for (const group of ['properties', 'patternProperties', '$defs', 'definitions'])
    for (const [name, inner] of Object.entries((each[group] as object | undefined) ?? {}))
      walk(inner, root, `${pointer}/${group}/${escape(name)}`, report, depth + 1);
  for (const group of ['oneOf', 'anyOf', 'allOf', 'prefixItems'])
    if (Array.isArray(each[group]))
      (each[group] as unknown[]).forEach((inner, index) =>
        walk(inner, root, `${pointer}/${group}/${index}`, report, depth + 1),
      );
  for (const group of ['items', 'not', 'if', 'then', 'else', 'additionalProperties'])
    walk(each[group], root, `${pointer}/${group}`, report, depth + 1);
}

/** The stretch of text that a JSON pointer means; the nearest one above it when it is not there. */
export function placeOf(state: EditorState, pointer: string): { from: number; to: number } {
  let node = syntaxTree(state).topNode.firstChild;
  for (const part of pointer.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    let next = null;
    if (node?.name === 'Object')
      for (const property of node.getChildren('Property')) {
        const key = property.getChild('PropertyName');
        if (key && keyText(state, key.from, key.to) === name) next = property.lastChild;
      }
    else if (node?.name === 'Array') {
      const items = [];
      for (let child = node.firstChild; child; child = child.nextSibling)
        if (/^(Object|Array|String|Number|True|False|Null)$/.test(child.name)) items.push(child);
      next = items[Number(name)] ?? null;
    }
    if (!next) break;
    node = next;
  }
  return { from: node?.from ?? 0, to: Math.min(node?.to ?? 1, (node?.from ?? 0) + 200) };
}

function errorPlace(state: EditorState): number {
  let at = state.doc.length;
  syntaxTree(state).iterate({ enter: (node) => void (node.type.isError && (at = Math.min(at, node.from))) });
  return Math.max(0, Math.min(at, state.doc.length - 1));
}

function keyText(state: EditorState, from: number, to: number): string {
  try {
    return JSON.parse(state.doc.sliceString(from, to)) as string;
  } catch {
    return '';
  }
}

const escape = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

function leadsSomewhere(root: unknown, ref: string): boolean {
  return (
    ref
      .slice(2)
      .split('/')
      .reduce<unknown>(
        (at, key) =>
          (at as Record<string, unknown> | undefined)?.[
            decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~')
          ],
        root,
      ) !== undefined
  );
}
