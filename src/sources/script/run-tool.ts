import type { Engine } from '../../code/index.ts';
import {
  fail,
  offerTool,
  toolResult,
  type Actor,
  type Budget,
  type BuiltInBundle,
  type Call,
  type ToolResult,
} from '../../schema/index.ts';
import { catalogWorld, newNotes, type WorldDeps } from './catalog-world.ts';
import { keepText, type KeepDeps } from './keep-large.ts';
import { answerText, withPrinted } from './run-answer.ts';

export interface RunDeps extends WorldDeps, KeepDeps {
  engine: Engine;
}

const totalMs = 600_000;
const maxNesting = 8;
const maxAnswerBytes = 4 * 1024 * 1024;
/** As much as `ot.result` answers at once, escapes included. */
const maxStoredAnswerBytes = 16 * 1024 * 1024;
const shownPrintLength = 4000;

/** Code mode: one tool behind which all others are called as code. */
export function codeTools(deps: RunDeps): BuiltInBundle {
  return {
    slug: 'code',
    displayName: 'Code mode',
    description: 'Runs a program that calls any tool in reach.',
    tools: [
      offerTool({
        slug: 'run',
        name: 'run',
        displayName: 'Run a program',
        description:
          'Run Python that calls tools as pack.function(key=value). The last expression is the answer, print() comes before it. ' +
          'Discover: ot.packs(), ot.tools(pattern="x"), ot.help(query="what you need"). Many at once: ' +
          'parallel([("pack.function", {"key": "value"})]). No classes, files or network; large answers come as a handle for ot.result().',
        level: 'read',
        argSchema: {
          type: 'object',
          properties: {
            code: { type: 'string', description: 'The Python program.' },
            command: { type: 'string', description: 'Another name for code.' },
          },
          minProperties: 1,
          additionalProperties: false,
        },
        returns: 'The value of the last expression as text.',
        example: 'run(code="ot.packs()")',
        run: (args, call) => run(deps, args.code ?? args.command ?? '', call),
      }),
    ],
  };
}

async function run(deps: RunDeps, code: string, call: Call): Promise<ToolResult> {
  const { actor } = call;
  const notes = newNotes();
  const budget: Budget = call.budget ?? newBudget(deps);
  const inlineBytes = inlineLimit(deps, call);
  const outcome = await deps.engine.run({
    code,
    owner: actor.principal,
    world: catalogWorld(deps, call, budget, notes),
    deadline: budget.deadline,
    maxCalls: Infinity,
    inlineBytes: () => (notes.fromStore.size > 0 ? maxStoredAnswerBytes : inlineBytes),
    signal: call.signal,
  });
  const meta = notes.foreign.size > 0 ? { meta: { 'oubliette/foreign': [...notes.foreign].sort() } } : {};
  if (!outcome.ok) throw fail('program.failed', { message: failureText(outcome.error.text, outcome.printed) });
  if (outcome.large) {
    const text = Buffer.concat([Buffer.from(withPrinted(outcome.printed, '')), outcome.large.text]);
    return kept(await keepText(deps, actor, text, outcome.large.shape), meta);
  }
  const text = await answerText(outcome, notes.introspection);
  if (Buffer.byteLength(text) > inlineBytes && !notes.fromStore.has(outcome.json))
    return kept(await keepText(deps, actor, text, `text of ${text.length} characters`), meta);
  return toolResult({ value: text, content: [{ type: 'text', text }], ...meta });
}

function kept(answer: Record<string, unknown>, meta: { meta?: Record<string, unknown> }): ToolResult {
  return toolResult({ value: answer, content: [{ type: 'text', text: JSON.stringify(answer) }], ...meta });
}

/** What programs started by one call share, however deep they call each other. */
export function newBudget(deps: Pick<RunDeps, 'settings'>): Budget {
  return { callsLeft: deps.settings().code.maxCalls, depthLeft: maxNesting, deadline: performance.now() + totalMs };
}

/** REST and the command line get whole answers; so does a program that runs another one. */
function inlineLimit(deps: RunDeps, call: Call): number {
  const isForModels = isModelDoor(call.actor) && call.parent === undefined;
  return isForModels ? deps.settings().output.maxInlineBytes : maxAnswerBytes;
}

const isModelDoor = (actor: Actor): boolean => actor.door === 'mcp' || actor.door === 'socket';

/** What was printed before a failure often explains it. */
function failureText(text: string, printed: string): string {
  if (printed === '') return text;
  const shown = printed.length > shownPrintLength ? `...${printed.slice(-shownPrintLength)}` : printed;
  return `${text}\n\nPrinted before it failed:\n${shown.replace(/\n$/, '')}`;
}
