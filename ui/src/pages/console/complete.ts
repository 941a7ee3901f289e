import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import type { Bundle, ToolView } from '../../api/shapes.ts';
import { isObject } from '../../form/read-schema.ts';

const words = [
  'for',
  'in',
  'if',
  'elif',
  'else',
  'while',
  'def',
  'return',
  'try',
  'except',
  'raise',
  'True',
  'False',
  'None',
  'and',
  'or',
  'not',
  'print',
  'len',
  'range',
  'sorted',
  'sum',
  'min',
  'max',
  'parallel',
  'lambda',
];

/** A bundle's name as programs write it. */
export const packName = (slug: string): string => slug.replaceAll('-', '_');

/** Completes packs, their functions after a dot, and keywords inside a call; of a large catalog only the packs that are named. */
export function completeProgram(bundles: Bundle[], toolsOf: (bundleID: string) => Promise<ToolView[]>) {
  const packs = new Map(bundles.map((bundle) => [packName(bundle.slug), bundle]));
  return async (context: CompletionContext): Promise<CompletionResult | null> => {
    const line = context.state.doc.lineAt(context.pos);
    const before = line.text.slice(0, context.pos - line.from);
    const member = /(\w+)\.(\w*)$/.exec(before);
    const named = packs.get(member?.[1] ?? '');
    if (member && named) {
      const options = (await toolsOf(named.id)).map(functionOption);
      return { from: context.pos - (member[2]?.length ?? 0), options };
    }
    const call = /(\w+)\.(\w+)\(([^()]*)$/.exec(context.state.sliceDoc(Math.max(0, context.pos - 2_000), context.pos));
    const word = context.matchBefore(/\w*$/);
    const typed = word?.text ?? '';
    if (call && /(^|[(,]\s*)\w*$/.test(before)) {
      const pack = packs.get(call[1] ?? '');
      const tool = pack && (await toolsOf(pack.id)).find((each) => packName(each.slug) === call[2]);
      if (tool) return { from: context.pos - typed.length, options: keywordOptions(tool, call[3] ?? '') };
    }
    if (typed === '' && !context.explicit) return null;
    const options: Completion[] = [
      ...[...packs].map(([name, { toolCount }]): Completion => ({
        label: name,
        type: 'namespace',
        detail: `${toolCount ?? ''}`,
        boost: 2,
      })),
      ...words.map((label): Completion => ({ label, type: 'keyword' })),
    ];
    return { from: context.pos - typed.length, options };
  };
}

const propertiesOf = (tool: ToolView): Record<string, unknown> =>
  isObject(tool.argSchema) && isObject(tool.argSchema['properties']) ? tool.argSchema['properties'] : {};

function functionOption(tool: ToolView): Completion {
  const required =
    isObject(tool.argSchema) && Array.isArray(tool.argSchema['required'])
      ? (tool.argSchema['required'] as string[])
      : [];
  const name = packName(tool.slug);
  return {
    label: name,
    type: 'function',
    detail: `(${Object.keys(propertiesOf(tool)).join(', ')})`,
    info: tool.description?.slice(0, 400) ?? '',
    apply: required.length > 0 ? `${name}(` : `${name}()`,
  };
}

function keywordOptions(tool: ToolView, given: string): Completion[] {
  return Object.entries(propertiesOf(tool))
    .filter(([name]) => !new RegExp(`\\b${name.replace(/\W/g, '\\$&')}\\s*=`).test(given))
    .map(([name, schema]) => {
      const read = isObject(schema) ? schema : {};
      return {
        label: name,
        type: 'variable',
        apply: `${name}=`,
        detail: String(read['type'] ?? ''),
        info: typeof read['description'] === 'string' ? read['description'] : '',
      };
    });
}
