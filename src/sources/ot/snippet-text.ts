import { exampleInvocation, exampleValues, expandSnippet, type SnippetDefinition } from '../../code/index.ts';
import { yamlFlow } from './yaml-flow.ts';

/** A snippet's definition as YAML, followed by an example call and what it expands to. */
export function snippetText(name: string, definition: SnippetDefinition): string {
  const params = Object.entries(definition.params ?? {}).map(
    ([key, param]) => `  ${yamlFlow(key)}: ${paramText(param)}`,
  );
  return [
    `name: ${yamlFlow(name)}`,
    `description: ${yamlFlow(definition.description ?? '')}`,
    ...(params.length > 0 ? ['params:', ...params] : ['params: {}']),
    `body: ${blockText(definition.body)}`,
    '',
    '# Example with defaults:',
    `# ${exampleInvocation(name, definition)}`,
    '# Expands to:',
    expansion(name, definition),
  ].join('\n');
}

function paramText(param: { type?: string; default?: unknown; description?: string } | null): string {
  const parts: string[] = [];
  if (param?.type !== undefined) parts.push(`type: ${yamlFlow(param.type)}`);
  if (param && Object.hasOwn(param, 'default')) parts.push(`default: ${inFlow(param.default)}`);
  if (param?.description !== undefined) parts.push(`description: ${JSON.stringify(param.description)}`);
  return `{${parts.join(', ')}}`;
}

/** JSON is YAML in flow style; plain words need no quotes. */
const inFlow = (value: unknown): string =>
  typeof value === 'string' && /^[A-Za-z][\w ]*$/.test(value) ? yamlFlow(value) : JSON.stringify(value);

/** A literal block; a body that starts with a space needs its indentation said. */
function blockText(body: string): string {
  const indicator = /^\s/.test(body) ? '|2' : '|';
  const lines = body.replace(/\n+$/, '').split('\n');
  return [indicator, ...lines.map((line) => (line === '' ? '' : `  ${line}`))].join('\n');
}

function expansion(name: string, definition: SnippetDefinition): string {
  try {
    return expandSnippet(name, definition, exampleValues(definition)).replace(/\n+$/, '');
  } catch (error) {
    return `# (it cannot be expanded: ${(error as Error).message})`;
  }
}
