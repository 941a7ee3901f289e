// The agent that needs no model: each message is a program over the MCP tools it was given. Bundled into the sandbox.
import { setTimeout as pause } from 'node:timers/promises';
import { serveEmbeddedAgent, type ProgramPort } from './agents/embedded/index.ts';
import { functionInfo, openEngine, type ProgramOutcome, type World } from './code/index.ts';
import { parseExactly } from './schema/json.ts';

const hour = 3600_000;
/** Tools that were declared with the very message may reach the agent a moment after it. */
const settleMs = 150;
const ownPrefix = 'oubliette_';

const engine = openEngine({
  childPath: new URL(process.env['OUBLIETTE_CODE_CHILD'] ?? './code-child.js', import.meta.url).pathname,
  limits: () => ({ timeoutMs: 30_000, totalMs: 24 * hour, maxMemoryMb: 64, maxCalls: 1000 }),
  children: 1,
});

const programs: ProgramPort = {
  async run({ code, tools, call, signal }) {
    let settled: Promise<unknown> | undefined;
    const find = async (name: string): Promise<unknown> => {
      const schema = (await tools(false)).get(name);
      if (schema !== undefined || name === 'tools') return schema;
      settled ??= pause(settleMs).then(() => tools(true));
      await settled;
      return (await tools(false)).get(name);
    };
    const hasOwnTools = async (): Promise<boolean> =>
      [...(await tools(false)).keys()].some((each) => each.startsWith(ownPrefix));
    const world: World = {
      async bare(name) {
        const schema = await find(name);
        if (schema !== undefined) return functionInfo(name, schema);
        // The server's own word on a tool that its key does not reach tells more than "not defined".
        if (name.startsWith(ownPrefix) && (await hasOwnTools()))
          return functionInfo(name, { additionalProperties: true });
        return name === 'tools' ? functionInfo('tools', { properties: {}, additionalProperties: false }) : undefined;
      },
      bareNames: async () => ['tools', ...(await tools(false)).keys()],
      // The server is to see what the program gave, and to refuse what it cannot take.
      read: parseExactly,
      async call({ name }, args, inner) {
        if (name === 'tools' && !(await tools(false)).has('tools'))
          return { value: [...(await tools(true)).keys()].sort() };
        const answer = await call(name, args, inner);
        return 'error' in answer ? { error: { type: 'RuntimeError', message: answer.error } } : answer;
      },
    };
    const hint = async (error: { text: string }): Promise<string> =>
      /there is no pack/.test(error.text) && (await tools(false)).has('run')
        ? `\nTools of bundles are called inside run: run(code='demo.foo(text="hi")'). tools() lists the functions that are here.`
        : '';
    const outcome = await engine.run({ code, owner: 'agent', world, signal });
    return outcome.ok
      ? { ok: true, text: answerText(outcome) }
      : {
          ok: false,
          text: outcome.printed + outcome.error.text + (await hint(outcome.error)),
          isProgram: isProgram(code, outcome.error.type),
        };
  },
};

function answerText(outcome: Extract<ProgramOutcome, { ok: true }>): string {
  if (outcome.hasValue) return outcome.printed + valueText(parseExactly(outcome.json));
  return outcome.printed || 'Code executed successfully (no return value)';
}

function valueText(value: unknown): string {
  if (value === null) return 'None';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Prose either cannot be parsed or is nothing but words. */
const isProgram = (code: string, errorType: string): boolean =>
  errorType !== 'SyntaxError' && !(errorType === 'NameError' && /^[\p{L}\p{N}\s,.;:!?'-]*$/u.test(code));

await serveEmbeddedAgent(programs);
engine.close();
process.exit(0);
