import type { ToolView } from '../../api/shapes.ts';

type Args = Record<string, unknown>;

/** The call as a shell command; the token comes from the environment, so it is never on the clipboard. */
export function asCurl(tool: ToolView, args: Args, address: string): string {
  const body = JSON.stringify({ args }).replaceAll("'", `'\\''`);
  return `curl -s ${address}/call/${tool.name} \\\n  -H "Authorization: Bearer $OUBLIETTE_TOKEN" \\\n  -H 'Content-Type: application/json' \\\n  -d '${body}'`;
}

/** The call as an MCP client sends it. */
export const asMcp = (tool: ToolView, args: Args): string =>
  JSON.stringify(
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool.name, arguments: args } },
    null,
    2,
  );

/** The call as a line of a code-mode program. */
export function asCode(tool: ToolView, args: Args): string {
  const given = Object.entries(args).map(([name, value]) => `${name}=${pythonValue(value)}`);
  return `${tool.bundleSlug.replaceAll('-', '_')}.${tool.slug.replaceAll('-', '_')}(${given.join(', ')})`;
}

/** A JSON value as Python writes it. */
export function pythonValue(value: unknown): string {
  if (value === null || value === undefined) return 'None';
  if (value === true) return 'True';
  if (value === false) return 'False';
  if (Array.isArray(value)) return `[${value.map(pythonValue).join(', ')}]`;
  if (typeof value === 'object')
    return `{${Object.entries(value)
      .map(([key, each]) => `${JSON.stringify(key)}: ${pythonValue(each)}`)
      .join(', ')}}`;
  return JSON.stringify(value);
}
