import { performance } from 'node:perf_hooks';
import { demandLevel } from '../auth/index.ts';
import type { Catalog, ToolSummary } from '../catalog/index.ts';
import type { Observer } from '../observe/index.ts';
import {
  asFailure,
  callName,
  compileSchema,
  digestLater,
  fail,
  Failure,
  isDispatchCode,
  isObject,
  isoNow,
  isTooDeep,
  newId,
  reaches,
  reasonOf,
  type Actor,
  type Bundle,
  type CallOptions,
  type CallRecord,
  type Outcome,
  type Settings,
  type ToolResult,
  type ToolView,
} from '../schema/index.ts';
import { Deadline } from './deadline.ts';
import type { Gate, KeepLarge, ToolRef } from './gate.ts';
import { RateLimit } from './rate-limit.ts';
import { RunningCall, type CallPower } from './running-call.ts';
import { stillValid } from './still-valid.ts';
import { isInReach, type Seen, type ToolViews } from './tool-views.ts';

export interface CallGateDeps {
  catalog: Catalog;
  views: ToolViews;
  observe: Observer;
  settings: () => Settings;
  keepLarge: KeepLarge;
  /** Takes secrets out of whatever leaves through any door. */
  redact: { text(text: string): string; value<T>(value: T): T };
  /** Throws auth.invalid once a token is revoked or over. */
  demandToken(tokenId: string, actor: Actor): Promise<unknown>;
}

const storedTimeoutMs = 60_000;
const offeredTimeoutMs = 600_000;
const maxAnswerBytes = 4 * 1024 * 1024;
const maxInnerBytes = 16 * 1024 * 1024;

/** Every call of every door and every program goes through `call`, one by one, under its own name. */
export function callGate(deps: CallGateDeps): Gate {
  const { catalog, views, observe, settings, keepLarge, redact } = deps;
  const rate = new RateLimit();
  const asked = stillValid(deps.demandToken);
  const listeners = new Set<() => void>();
  catalog.onChange(() => listeners.forEach((listener) => listener()));

  const find = async (actor: Actor, ref: ToolRef): Promise<Seen> => {
    const seen = await look(ref);
    if (!seen || !isInReach(actor, seen.bundle, seen.view.name))
      throw fail('tool.not_found', { ref: typeof ref === 'string' ? ref : `${ref.slug} version ${ref.version}` });
    return seen;
  };

  /** What needs no waiting: nearly every tool that is called is in memory, and its newest version is switched on. */
  const kept = (actor: Actor, ref: ToolRef): Seen | undefined => {
    const [summary] = versions(ref);
    const seen = summary && views.seeKept(summary);
    if (!seen || (!isOn(seen) && typeof ref === 'string')) return undefined;
    return isInReach(actor, seen.bundle, seen.view.name) ? seen : undefined;
  };

  const versions = (ref: ToolRef): readonly ToolSummary[] => {
    if (typeof ref === 'string') return catalog.named(ref);
    const summary = catalog.bundle(ref.bundleID) && catalog.summary(ref.bundleID, ref.slug, ref.version);
    return summary ? [summary] : [];
  };

  /** The newest version that is switched on; when none is, the newest, so that the refusal can say why. */
  const look = async (ref: ToolRef): Promise<Seen | undefined> => {
    let first: Seen | undefined;
    for (const summary of versions(ref)) {
      const seen = await views.see(summary);
      if (seen && isOn(seen)) return seen;
      first ??= seen;
    }
    return first;
  };

  const call: Gate['call'] = (actor, ref, args, options = {}) => {
    const seen = kept(actor, ref);
    return seen
      ? pass(actor, seen, args, options)
      : find(actor, ref).then((found) => pass(actor, found, args, options));
  };

  /** Everything that a call must pass, whatever tool it is for. */
  const pass = async (actor: Actor, seen: Seen, given: unknown, options: CallOptions): Promise<Outcome> => {
    const { view } = seen;
    const requestId = options.requestId ?? newId('req');
    const begun = begin(actor, view, isTooDeep(given) ? tooDeep(view) : given, requestId, options);
    let args: Record<string, unknown>;
    try {
      const asking = asked(actor, options);
      if (asking) await asking;
      args = admit(actor, seen, begun.args, options);
    } catch (error) {
      await begun.record(asFailure(error).code, 0, false);
      throw hide(error);
    }
    const timeoutMs = view.limits?.timeoutMs ?? (seen.bundle.kind === 'stored' ? storedTimeoutMs : offeredTimeoutMs);
    const deadline = new Deadline(view.name, timeoutMs, options.signal);
    try {
      if (view.limits?.maxRequestBytes !== undefined) demandSize(view, args, view.limits.maxRequestBytes);
      const running = new RunningCall(power, actor, view, requestId, options, deadline);
      const source = seen.source!;
      const racing = deadline.race(
        source.runNow ? source.runNow(view, args, running) : source.run(view, args, running),
      );
      const result = redact.value(racing instanceof Promise ? await racing : racing);
      const settled = settle(actor, view, result, options);
      const outcome = settled.large === undefined ? settled.outcome : await keep(actor, settled.outcome, settled.large);
      const written = begun.record(outcome.ok ? 'ok' : 'tool.failed', settled.bytes, true);
      if (written) await written;
      return outcome;
    } catch (error) {
      const failure = failureOf(error, seen);
      if (failure.code === 'server.internal') observe.log.error({ err: error, tool: view.name }, 'a tool broke');
      await begun.record(failure.code, 0, true);
      if (!isDispatchCode(failure.code) && failure.code !== 'host.not_allowed') throw hide(failure);
      const message = redact.text(failure.message);
      return { ok: false, error: { code: failure.code, message, retryable: failure.retryable } };
    } finally {
      deadline.end();
    }
  };

  /** The arguments as the tool may have them; throws what speaks against the call. */
  const admit = (actor: Actor, seen: Seen, args: unknown, options: CallOptions): Record<string, unknown> => {
    const { view } = seen;
    demandLevel(actor, view.level, view.name);
    demandEnabled(seen);
    const checked = checkArgs(view, args);
    spend(options);
    const perMinute = view.limits?.maxCallsPerMinute;
    if (perMinute !== undefined) rate.take(view.id, view.name, perMinute);
    return checked;
  };

  const hide = (error: unknown): unknown => {
    if (!(error instanceof Failure)) return error;
    const [message, details] = [redact.text(error.message), redact.value(error.details)];
    if (message === error.message && details === error.details) return error;
    return fail(error.code, { message }, { details, retryable: error.retryable });
  };

  /** Checks and bounds what came back. */
  const settle = (actor: Actor, view: ToolView, result: ToolResult, options: CallOptions): Settled => {
    const value = result.value === undefined ? null : result.value;
    if (result.inputRequired) return { outcome: { ok: true, value: null, result }, bytes: 0 };
    if (result.isError) {
      const message = errorText(result);
      const outcome: Outcome = { ok: false, error: { code: 'tool.failed', message, retryable: false }, result };
      return { outcome, bytes: Buffer.byteLength(message) };
    }
    if (view.outputSchema !== undefined && !result.isEmpty) {
      const checked = compileSchema(view.outputSchema).check(value, '/value');
      if (!checked.ok) throw fail('output.invalid', { tool: view.name, reason: reasonOf(checked.errors) });
    }
    const json = JSON.stringify(value) ?? 'null';
    const bytes = Buffer.byteLength(json);
    const cap = view.limits?.maxResponseBytes;
    if (cap !== undefined && bytes > cap) throw fail('response.too_large', { tool: view.name, limit: cap });
    const outcome: Done = { ok: true, value, json, result: result.value === value ? result : { ...result, value } };
    if (options.parent !== undefined) {
      if (bytes > maxInnerBytes) throw fail('response.too_large', { tool: view.name, limit: maxInnerBytes });
      return { outcome, bytes };
    }
    const limit = inlineLimit(actor, settings());
    if (bytes <= limit || isSelfBounded(view) || answerBytes(value, bytes) <= limit) return { outcome, bytes };
    return { outcome, bytes, large: json };
  };

  /** Puts a large answer away; what is answered instead says where. */
  const keep = async (actor: Actor, { value, result: { meta } }: Done, json: string): Promise<Outcome> => {
    const kept = await keepLarge(actor, value, json);
    return { ok: true, value: kept, result: { value: kept, ...(meta && { meta }) } };
  };

  interface Begun {
    args: unknown;
    /** A promise where the call must be on disk before it is answered; reads are written behind. */
    record(outcome: CallRecord['outcome'], resultBytes: number, isDispatched: boolean): Promise<void> | undefined;
  }

  const begin = (actor: Actor, tool: ToolView, args: unknown, requestId: string, options: CallOptions): Begun => {
    const startedAt = performance.now();
    const at = isoNow();
    const argsText = JSON.stringify(args) ?? '';
    return {
      args,
      record: (outcome, resultBytes, isDispatched) => {
        const { door, principal, tokenId, sessionId } = actor;
        const written = observe.record({
          requestId,
          parent: options.parent,
          at,
          durationMs: performance.now() - startedAt,
          name: tool.name,
          pack: callName(tool),
          toolId: tool.id,
          bundleSlug: tool.bundleSlug,
          level: tool.level,
          door,
          principal,
          tokenId,
          sessionId,
          projectId: projectOf(actor, args),
          outcome,
          isDispatched,
          argsBytes: Buffer.byteLength(argsText),
          resultBytes,
          argsDigest: digestLater(argsText),
        });
        return tool.level === 'read' ? undefined : written;
      },
    };
  };

  const power: CallPower = { call, list: (actor) => gate.list(actor), log: observe.log, redact };
  const gate: Gate = {
    call,
    async callDeclared(actor, tool, source, args, options = {}) {
      const bundle = declaredBundle(tool);
      return pass(actor, { view: tool, bundle, source, isOwn: true }, args, options);
    },
    isOwn: (tool) => catalog.offer(tool.bundleID)?.offer.isOwn ?? false,
    resolve: async (actor, ref) => (kept(actor, ref) ?? (await find(actor, ref))).view,
    async list(actor, filter = {}) {
      const found: ToolView[] = [];
      let name: string | undefined;
      for (const summary of catalog.summaries()) {
        if (summary.name === name) continue;
        if (found.length >= (filter.limit ?? Infinity)) break;
        const bundle = catalog.bundle(summary.bundleID);
        if (!bundle?.isEnabled || !isInReach(actor, bundle, summary.name)) continue;
        if (filter.bundleSlug !== undefined && bundle.slug !== filter.bundleSlug) continue;
        const seen = await views.see(summary);
        if (!seen?.view.isEnabled || !reaches(actor.level, seen.view.level)) continue;
        name = summary.name;
        found.push(seen.view);
      }
      return found;
    },
    onMenuChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  return gate;
}

type Done = Extract<Outcome, { ok: true }>;

type Settled = {
  /** Size of the whole answer, kept or not. */
  bytes: number;
} & (
  | { outcome: Outcome; large?: undefined }
  | { outcome: Done; /** Too large for its door: the value as JSON. */ large: string }
);

const isOn = ({ view, bundle }: Seen): boolean => view.isEnabled && bundle.isEnabled;

function tooDeep(tool: ToolView): Failure {
  const details = [{ path: '/args', message: 'is nested too deeply' }];
  return fail('args.invalid', { tool: tool.name, reason: '/args is nested too deeply' }, { details });
}

/** A declared tool has no bundle; its session stands in for one. */
function declaredBundle(tool: ToolView): Bundle {
  const { bundleID: id, bundleSlug: slug, createdAt, modifiedAt, schemaVersion } = tool;
  const flags = { isEnabled: true, isBuiltIn: false, isManaged: true, kind: 'pack' as const };
  return { id, slug, displayName: slug, ...flags, createdAt, modifiedAt, schemaVersion };
}

function demandEnabled({ view, bundle }: Seen): void {
  if (!bundle.isEnabled) throw fail('bundle.disabled', { bundle: bundle.slug });
  if (!view.isEnabled)
    throw fail('tool.disabled', {
      tool: view.name,
      reason: view.disabledReason ? `: ${view.disabledReason}` : '. Enable it first.',
    });
}

function checkArgs(tool: ToolView, args: unknown): Record<string, unknown> {
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

/** HTTP tools count the body they send; of the others the arguments are what is sent. */
function demandSize(tool: ToolView, args: unknown, limit: number): void {
  if (tool.type !== 'http' && Buffer.byteLength(JSON.stringify(args)) > limit)
    throw fail('tool.failed', { reason: `The arguments are larger than ${limit} bytes, the limit of ${tool.name}.` });
}

/** Inner calls share their program's budget. */
function spend({ budget }: CallOptions): void {
  if (!budget) return;
  if (budget.callsLeft <= 0)
    throw fail('program.failed', {
      reason: 'The program made too many calls. Do less per program, or raise code.maxCalls in config.yaml.',
    });
  if (budget.depthLeft <= 0) throw fail('program.failed', { reason: 'Programs are nested too deeply.' });
  budget.callsLeft--;
}

/** A tool that threw has failed; only the server's own tools speak with the catalogue's other codes. */
function failureOf(error: unknown, { isOwn, view }: Seen): Failure {
  if (error instanceof Failure) {
    if (isOwn || isDispatchCode(error.code) || error.code === 'host.not_allowed') return error;
    return fail('tool.failed', { reason: error.message }, { cause: error });
  }
  if (isOwn) return asFailure(error);
  // What runs out of stack in this process is the walk through an answer.
  if (error instanceof RangeError && /call stack/.test(error.message))
    return fail('tool.failed', { reason: `The answer of ${view.name} is nested too deeply.` }, { cause: error });
  return fail('tool.failed', { reason: error instanceof Error ? error.message : String(error) }, { cause: error });
}

function errorText(result: ToolResult): string {
  const texts = result.content?.flatMap((block) => (block.type === 'text' ? [block.text] : [])) ?? [];
  if (texts.length > 0) return texts.join('\n');
  if (result.value === undefined || result.value === null) return 'It failed and did not say why.';
  return typeof result.value === 'string' ? result.value : JSON.stringify(result.value);
}

/** `run` bounds its own text, and a stored result is never stored again. */
function isSelfBounded(tool: ToolView): boolean {
  return tool.isBuiltIn && (tool.name === 'run' || tool.name === 'ot_result');
}

/** A string is answered as it is: quotes and escapes of its JSON do not count. */
function answerBytes(value: unknown, jsonBytes: number): number {
  return typeof value === 'string' ? Buffer.byteLength(value) : jsonBytes;
}

function inlineLimit(actor: Actor, settings: Settings): number {
  return actor.door === 'mcp' ? settings.output.maxInlineBytes : maxAnswerBytes;
}

function projectOf(actor: Actor, args: unknown): string | undefined {
  const named = isObject(args) ? args['project_id'] : undefined;
  return typeof named === 'string' && likeId.test(named) ? named : actor.projectId;
}

/** Anything else is no project of ours, and has no place in records. */
const likeId = /^[\w-]{1,64}$/;
