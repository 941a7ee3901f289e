import { demandLevel } from '../auth/index.ts';
import type { Catalog, ToolSummary } from '../catalog/index.ts';
import type { Observer } from '../observe/index.ts';
import {
  asFailure,
  fail,
  Failure,
  isDispatchCode,
  isUnfit,
  newId,
  reaches,
  type Actor,
  type Bundle,
  type CallOptions,
  type Outcome,
  type Settings,
  type ToolView,
} from '../schema/index.ts';
import { checkArgs, demandEnabled, demandSize, spend, unfit } from './admit-call.ts';
import { settle, type Done } from './call-answer.ts';
import { beginRecord } from './call-record.ts';
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

/** Every call of every door and every program goes through `call`, one by one, under its own name. */
export function callGate(deps: CallGateDeps): Gate {
  const { catalog, views, observe, settings, keepLarge, redact } = deps;
  const rate = new RateLimit();
  const asked = stillValid(deps.demandToken);
  const listeners = new Set<() => void>();
  catalog.onChange(() => listeners.forEach((listener) => listener()));

  const find = async (actor: Actor, ref: ToolRef): Promise<Seen> => {
    const seen = await catalog.find(() => look(ref));
    if (!seen || !isInReach(actor, seen.bundle, seen.view.name))
      throw fail('tool.not_found', { ref: typeof ref === 'string' ? ref : `${ref.slug} version ${ref.version}` });
    return seen;
  };

  /** The fast path, without waiting: nearly every tool that is called is in memory with its newest version enabled. */
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
    const asGiven = isUnfit(given) ? unfit(view, given) : given;
    const begun = beginRecord(observe, actor, view, asGiven, requestId, options);
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
      const settled = settle(actor, view, result, options, settings);
      const outcome = settled.large === undefined ? settled.outcome : await keep(actor, settled.outcome, settled.large);
      const written = begun.record(outcome.ok ? 'ok' : 'tool.failed', settled.bytes, true);
      if (written) await written;
      return outcome;
    } catch (error) {
      const failure = failureOf(error, seen);
      if (failure.code === 'server.internal')
        observe.log.error({ span: 'gate.call', err: error, tool: view.name }, 'a tool broke');
      await begun.record(failure.code, 0, true);
      if (!isDispatchCode(failure.code) && failure.code !== 'host.not_allowed') throw hide(failure);
      const message = redact.text(failure.message);
      return { ok: false, error: { code: failure.code, message, retryable: failure.retryable } };
    } finally {
      deadline.end();
    }
  };

  /** Checks that the call may be made; answers its arguments with defaults filled in. */
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

  /** Stores a large answer and answers its handle instead. */
  const keep = async (actor: Actor, { value, result: { meta } }: Done, json: string): Promise<Outcome> => {
    const kept = await keepLarge(actor, value, json);
    return { ok: true, value: kept, result: { value: kept, ...(meta && { meta }) } };
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

const isOn = ({ view, bundle }: Seen): boolean => view.isEnabled && bundle.isEnabled;

/** A declared tool has no bundle; its session stands in for one. */
function declaredBundle(tool: ToolView): Bundle {
  const { bundleID: id, bundleSlug: slug, createdAt, modifiedAt, schemaVersion } = tool;
  const flags = { isEnabled: true, isBuiltIn: false, isManaged: true, kind: 'pack' as const };
  return { id, slug, displayName: slug, ...flags, createdAt, modifiedAt, schemaVersion };
}

/** A tool that threw has failed; only the server's own tools speak with the catalogue's other codes. */
function failureOf(error: unknown, { isOwn, view }: Seen): Failure {
  if (error instanceof Failure) {
    if (isOwn || isDispatchCode(error.code) || error.code === 'host.not_allowed') return error;
    return fail('tool.failed', { reason: error.message }, { cause: error });
  }
  if (isOwn) return asFailure(error);
  // In this process only the walk through an answer can overflow the stack.
  if (error instanceof RangeError && /call stack/.test(error.message))
    return fail('tool.failed', { reason: `The answer of ${view.name} is nested too deeply.` }, { cause: error });
  return fail('tool.failed', { reason: error instanceof Error ? error.message : String(error) }, { cause: error });
}
