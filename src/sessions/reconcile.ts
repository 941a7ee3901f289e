import { stat } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isLive } from './admission.ts';
import { isAbandoned, type Lifecycle } from './lifecycle.ts';
import { isNodeAlive } from './node-identity.ts';
import { listPlaces, placeAt, removePlace } from './place.ts';
import type { SessionPorts } from './ports.ts';
import type { UtilityBoxes } from './utility-boxes.ts';

const youngMs = 60_000;
const forgottenMs = 5_000;
/** A session that just ended is the one most likely to go on. */
const restMs = 60_000;
/** Every stored session has a folder; this many are looked up before others get their turn. */
const placesAtOnce = 100;

/** Starts what should run and removes what should not. Whatever fails is found again next time. */
export async function reconcile(
  ports: SessionPorts,
  lifecycle: Lifecycle,
  utility: UtilityBoxes,
  ourPlaces: () => string[],
): Promise<void> {
  await takeOverAbandoned(ports, lifecycle);
  await utility.takeOver();
  await endForgotten(ports, lifecycle);
  const inUse = await removeStrayBoxes(ports, ourPlaces);
  if (inUse) await removeStrayPlaces(ports, (place) => inUse.has(place) || ourPlaces().includes(place));
  await moveFinishedLogs(ports);
}

/** Goes on with sessions whose server is gone, all at once. */
export async function takeOverAbandoned(ports: SessionPorts, lifecycle: Lifecycle): Promise<void> {
  const abandoned = (await ports.tables.list({ isLive: true })).filter(isAbandoned);
  const takeOver = async (id: string): Promise<void> => {
    // Of several processes only one may take it: the row decides.
    const row = await ports.log.write(() => {
      const now = ports.tables.getNow(id);
      if (!now || !isAbandoned(now)) return undefined;
      ports.tables.update(id, { node: ports.node, wanted: null, reserved_usd: 0 });
      return ports.tables.getNow(id);
    });
    if (row)
      await lifecycle
        .takeOver(row)
        .catch((error: unknown) =>
          ports.logger.error(
            { span: 'session.takeover', err: error, session: id },
            'a session could not be taken over',
          ),
        );
  };
  await Promise.all(abandoned.map((row) => takeOver(row.id)));
}

/** Sessions of ours that are live only by their row: their end could not be stored when it came. */
async function endForgotten(ports: SessionPorts, lifecycle: Lifecycle): Promise<void> {
  for (const row of await ports.tables.list({ node: ports.node, isLive: true })) {
    if (lifecycle.has(row.id) || Date.now() - Date.parse(row.updated_at) < forgottenMs) continue;
    const message = 'its end could not be stored when it came';
    lifecycle.finishQuietly(row.id, { status: 'failed', reason: message, error: { code: 'limit.storage', message } });
  }
}

/**
 * Boxes of this home that belong to no place of ours and to no other server that lives. Answers the places of those
 * that stay; undefined when not all could be seen.
 */
async function removeStrayBoxes(ports: SessionPorts, ourPlaces: () => string[]): Promise<Set<string> | undefined> {
  const inUse = new Set<string>();
  let isComplete = true;
  for (const driver of ports.drivers) {
    try {
      if (!(await driver.probe()).available) continue;
      for (const box of await driver.list({ run: ports.runFolder })) {
        const { node, place } = box.labels;
        const isOurs = place !== undefined && ourPlaces().includes(place);
        // After a takeover the row, not the label, says which server it belongs to.
        const isTheirs = [node, place !== undefined && (await keeperOf(ports, place))].some(
          (each) => each && each !== ports.node && isNodeAlive(each),
        );
        if (isOurs || isTheirs) {
          if (place !== undefined) inUse.add(place);
          continue;
        }
        ports.logger.info({ span: 'sandbox.stray', box: box.id, place }, 'removing a sandbox that belongs to nobody');
        await driver.remove(box.id);
      }
    } catch (error) {
      isComplete = false;
      ports.logger.warn(
        { span: 'sandbox.look', err: error, driver: driver.name },
        'sandboxes could not be looked after',
      );
    }
  }
  return isComplete ? inUse : undefined;
}

async function keeperOf(ports: SessionPorts, place: string): Promise<string | undefined> {
  return (await ports.tables.nodeOfPlace(place)) ?? ports.utilityTables.list().find((row) => row.place === place)?.node;
}

async function removeStrayPlaces(ports: SessionPorts, isInUse: (place: string) => boolean): Promise<void> {
  for (const [looked, name] of (await listPlaces(ports.runFolder)).entries()) {
    if (looked % placesAtOnce === 0) await nextTurn();
    if (isInUse(name) || (await ports.tables.hasPlace(name))) continue;
    const folder = placeAt(ports.runFolder, name).mcp.slice(0, -2);
    const info = await stat(folder).catch(() => undefined);
    // A place is made a moment before its session is stored.
    if (info && Date.now() - info.mtimeMs > youngMs) await removePlace(ports.runFolder, name);
  }
}

/** Live sessions keep their log in the database; finished ones in files of their project. */
async function moveFinishedLogs(ports: SessionPorts): Promise<void> {
  for (const id of ports.log.inTable()) {
    const row = await ports.tables.peek(id);
    if (!row || isLive(row) || Date.now() - Date.parse(row.updated_at) < restMs) continue;
    await ports.log
      .moveToFile(id, row.project_id)
      .catch((error: unknown) =>
        ports.logger.warn(
          { span: 'session.log', err: error, session: id },
          'the log of a session could not be moved to a file',
        ),
      );
  }
}
