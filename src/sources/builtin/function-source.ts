import {
  compileSchema,
  fail,
  isObject,
  isToolResult,
  type Source,
  type Tool,
  type ToolResult,
} from '../../schema/index.ts';
import type { FunctionFinder, RegisteredFunction } from './registry.ts';

/** Runs tools of type `function` (and its old name `go`) by looking their function up at every call. */
export function functionSource(registry: FunctionFinder): Source {
  const runNow: NonNullable<Source['runNow']> = (tool, args, call) => {
    const found = usable(registry, tool);
    if (!found) throw fail('tool.failed', { reason: `The function ${funcOf(tool)} does not exist any more.` });
    const answer: unknown = found.run(tool.isBuiltIn ? args : suited(found, funcOf(tool), args), call);
    return isThenable(answer) ? Promise.resolve(answer).then(resultOf) : resultOf(answer);
  };

  return {
    check(tool) {
      if (!registry.find(funcOf(tool))?.isPublic)
        throw fail(
          'function.unknown',
          { func: funcOf(tool) },
          {
            details: [
              { path: `/${tool.goImpl ? 'goImpl' : 'functionImpl'}/func`, message: 'is not a public function' },
            ],
          },
        );
    },

    disabledReason(tool) {
      return usable(registry, tool) ? undefined : `the function ${funcOf(tool)} does not exist any more`;
    },

    level: (tool) => registry.find(funcOf(tool))?.level ?? 'write',

    run: async (tool, args, call) => runNow(tool, args, call),
    runNow,
  };
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}

function resultOf(answer: unknown): ToolResult {
  return isToolResult(answer) ? answer : { value: answer === undefined ? null : answer };
}

/** The arguments as the function itself declares them: a stored tool has a schema of its own, which may let pass anything. */
function suited(
  { argSchema }: RegisteredFunction,
  func: string,
  args: Record<string, unknown>,
): Record<string, unknown> {
  if (!isObject(argSchema)) return args;
  const known =
    argSchema['additionalProperties'] === false && isObject(argSchema['properties']) ? argSchema['properties'] : args;
  const given = Object.fromEntries(Object.entries(args).filter(([name]) => Object.hasOwn(known, name)));
  const checked = compileSchema(argSchema, { defaults: true }).check(given, '/args');
  if (checked.ok) return checked.value as Record<string, unknown>;
  const [first] = checked.errors;
  throw fail('tool.failed', {
    reason: `The function ${func} cannot work with these arguments: ${first!.path} ${first!.message}`,
  });
}

const funcOf = (tool: Tool): string => (tool.functionImpl ?? tool.goImpl)?.func ?? '';

// A stored file may have been written by hand: what is not public stays out of reach for it at every call, not only at PUT.
function usable(registry: FunctionFinder, tool: Tool): RegisteredFunction | undefined {
  const found = registry.find(funcOf(tool));
  return found && (found.isPublic || tool.isBuiltIn) ? found : undefined;
}
