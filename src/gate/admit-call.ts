import {
  compileSchema,
  fail,
  Failure,
  findLongInteger,
  isObject,
  isTooDeep,
  reasonOf,
  type CallOptions,
  type ToolView,
} from '../schema/index.ts';
import type { Seen } from './tool-views.ts';

/** The refusal of arguments that would overflow the stack of any recursive reader, or reach the tool as others. */
export function unfit(tool: ToolView, args: unknown): Failure {
  if (isTooDeep(args)) {
    const details = [{ path: '/args', message: 'is nested too deeply' }];
    return fail('args.invalid', { tool: tool.name, reason: '/args is nested too deeply' }, { details });
  }
  const { path, digits } = findLongInteger(args, '/args')!;
  const message = `is ${digits}, an integer too long to be carried exactly. Send it as a string, if the tool takes one`;
  return fail(
    'args.invalid',
    { message: `The arguments of ${tool.name} would be changed: ${path} ${message}.` },
    { details: [{ path, message }] },
  );
}

/** Throws bundle.disabled or tool.disabled, with the reason. */
export function demandEnabled({ view, bundle }: Seen): void {
  if (!bundle.isEnabled) throw fail('bundle.disabled', { bundle: bundle.slug });
  if (!view.isEnabled)
    throw fail('tool.disabled', {
      tool: view.name,
      reason: view.disabledReason ? `: ${view.disabledReason}` : '. Enable it first.',
    });
}

/** The arguments with defaults filled in; throws args.invalid that names each place. */
export function checkArgs(tool: ToolView, args: unknown): Record<string, unknown> {
  // A door that found no arguments in its body hands in why, so that the order of checks stays the gate's.
  if (args instanceof Failure) throw args;
  if (!isObject(args))
    throw fail(
      'args.invalid',
      { tool: tool.name, reason: '/args must be an object' },
      {
        details: [{ path: '/args', message: 'must be an object' }],
      },
    );
  const checked = compileSchema(tool.argSchema, { defaults: true }).check(args, '/args');
  if (!checked.ok)
    throw fail('args.invalid', { tool: tool.name, reason: reasonOf(checked.errors) }, { details: checked.errors });
  return checked.value as Record<string, unknown>;
}

/** HTTP tools count the body that they send; for all others the arguments are what is sent. */
export function demandSize(tool: ToolView, args: unknown, limit: number): void {
  if (tool.type !== 'http' && Buffer.byteLength(JSON.stringify(args)) > limit)
    throw fail('tool.failed', { reason: `The arguments are larger than ${limit} bytes, the limit of ${tool.name}.` });
}

/** Inner calls share their program's budget. */
export function spend({ budget }: CallOptions): void {
  if (!budget) return;
  if (budget.callsLeft <= 0)
    throw fail('program.failed', {
      reason: 'The program made too many calls. Do less per program, or raise code.maxCalls in config.yaml.',
    });
  if (budget.depthLeft <= 0) throw fail('program.failed', { reason: 'Programs are nested too deeply.' });
  budget.callsLeft--;
}
