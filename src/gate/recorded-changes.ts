import { hash } from 'node:crypto';
import type { Observer } from '../observe/index.ts';
import { asFailure, digestLater, isoNow, isTooDeep, newId, type Actor, type CallRecord } from '../schema/index.ts';
import type { CatalogGate, ToolKey } from './catalog-gate.ts';
import type { Exchange } from './exchange.ts';

type Recorder = Pick<Observer, 'record'>;

/** The same changes, each with a line in the log and a row in the audit, also when it is refused. */
export function recordedChanges(changes: CatalogGate, observe: Recorder): CatalogGate {
  const bundle = (bundleID: string): object => ({ bundleID });
  return {
    putBundle: (actor, id, body) =>
      recorded(observe, actor, 'bundle', 'put', { ...bundle(id), body }, () => changes.putBundle(actor, id, body)),
    patchBundle: (actor, id, body) =>
      recorded(observe, actor, 'bundle', 'patch', { ...bundle(id), body }, () => changes.patchBundle(actor, id, body)),
    deleteBundle: (actor, id) =>
      recorded(observe, actor, 'bundle', 'delete', bundle(id), () => changes.deleteBundle(actor, id)),
    putTool: (actor, key, body) =>
      recorded(observe, actor, 'tool', 'put', { ...key, body }, () => changes.putTool(actor, key, body), true),
    patchTool: (actor, key, body) =>
      recorded(observe, actor, 'tool', 'patch', { ...key, body }, () => changes.patchTool(actor, key, body)),
    deleteTool: (actor, key: ToolKey) =>
      recorded(observe, actor, 'tool', 'delete', { ...key }, () => changes.deleteTool(actor, key)),
    getTool: (actor, key) => changes.getTool(actor, key),
  };
}

/** An import is one change, however many tools it brings. */
export function recordedExchange(files: Exchange, observe: Recorder): Exchange {
  return {
    ...files,
    import: (actor, zip, policy) =>
      recorded(observe, actor, 'bundle', 'import', { policy, zip: hash('sha256', zip) }, () =>
        files.import(actor, zip, policy),
      ),
  };
}

/**
 * `isBehind`: a stored version never changes and its file is on disk when it is answered, so its row may follow a
 * moment later; everything else leaves no trace but this one.
 */
async function recorded<T>(
  observe: Recorder,
  actor: Actor,
  what: string,
  verb: string,
  args: object,
  run: () => Promise<T>,
  isBehind = false,
): Promise<T> {
  const startedAt = performance.now();
  const at = isoNow();
  // Something nested too deeply to be written down is about to be refused; its record must not fail first.
  const text = isTooDeep(args) ? '' : JSON.stringify(args);
  const write = (outcome: CallRecord['outcome']): Promise<void> => {
    const { door, principal, tokenId, sessionId, projectId } = actor;
    return observe.record(
      {
        requestId: newId('req'),
        at,
        durationMs: performance.now() - startedAt,
        name: `${what}_${verb}`,
        pack: `${what}.${verb}`,
        toolId: '',
        bundleSlug: 'catalog',
        level: 'admin',
        door,
        principal,
        tokenId,
        sessionId,
        projectId,
        outcome,
        isDispatched: false,
        argsBytes: Buffer.byteLength(text),
        resultBytes: 0,
        argsDigest: digestLater(text),
      },
      isBehind,
    );
  };
  try {
    const answer = await run();
    await write('ok');
    return answer;
  } catch (error) {
    await write(asFailure(error).code);
    throw error;
  }
}
