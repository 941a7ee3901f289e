import { join } from 'node:path';
import { fail, isSlug } from '../../schema/index.ts';
import { createFile, makeFolder } from '../../store/index.ts';

/** Writes `packs/NAME.ts` with a commented example; throws request.invalid when the name is none or the file exists. Answers its path. */
export async function packNew(folder: string, name: string): Promise<string> {
  if (!isSlug(name))
    throw fail('request.invalid', {
      reason: `${JSON.stringify(name.slice(0, 80))} is no name for a pack. Use letters, digits and dashes.`,
    });
  await makeFolder(folder);
  const path = join(folder, `${name}.ts`);
  if (!(await createFile(path, example(name)))) throw fail('request.invalid', { reason: `${path} exists already.` });
  return path;
}

const example = (
  name: string,
): string => `// The pack "${name}": every exported function with a \`tool\` property becomes a tool.
// Save the file and the tools are there; a mistake is shown with its line, and the last good version stays.
import type { Call, ToolInfo } from 'oubliette';

// Optional: how the bundle is shown.
export const bundle = { displayName: '${name}', description: 'What these tools are for' };

// Arguments are checked against argSchema before the function runs; what it returns (any JSON value) is the answer.
export async function hello(args: { name: string; times?: number }, call: Call) {
  const lines: string[] = [];
  for (let i = 1; i <= (args.times ?? 1); i++) {
    // Stop when nobody waits any more, and say how far it is.
    call.signal.throwIfAborted();
    call.progress({ progress: i, total: args.times ?? 1 });
    lines.push(\`Hello, \${args.name}!\`);
  }
  // Other tools are called by their names, with the rights of whoever called this one:
  //   const outcome = await call.invoke('demo_foo', { text: args.name });
  //   if (outcome.ok) lines.push(String(outcome.value));
  return lines;
}

hello.tool = {
  description: 'Greets somebody as often as you like.',
  argSchema: {
    type: 'object',
    properties: {
      name: { type: 'string', description: 'Who is greeted' },
      times: { type: 'integer', minimum: 1, maximum: 10, description: 'How often; once if left out' },
    },
    required: ['name'],
    additionalProperties: false,
  },
  // 'read' changes nothing; 'write' (the default) and 'admin' need a token of that level.
  access: 'read',
  tags: ['example'],
  example: '${name.replaceAll('-', '_')}.hello(name="Ada", times=2)',
  returns: 'A list of greetings',
} satisfies ToolInfo;
`;
