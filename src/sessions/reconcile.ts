import { rm, stat } from 'node:fs/promises';
import { isLive } from './admission.ts';
import { isAbandoned, type Lifecycle } from './lifecycle.ts';
import { isNodeAlive } from './node-identity.ts';
import { listPlaces, placeAt } from './place.ts';
import type { SessionPorts } from './ports.ts';

const youngMs = 60_000;
const forgottenMs = 5_000;
/** A session that just ended is the one most likely to go on. */
const restMs = 60_000;

/** What should run, runs; what should not, goes. Never throws: what fails now is found again the next time. */
export async function reconcile(ports: SessionPorts, lifecycle: Lifecycle, ourPlaces: () => string[]): Promise<void> {
  await takeOverAbandoned(ports, lifecycle);
  await endForgotten(ports, lifecycle);
  await removeStrayBoxes(ports, ourPlaces);
  await removeStrayPlaces(ports, ourPlaces);
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
    if (row) await lifecycle.takeOver(row).catch((error: unknown) => ports.logger.error({ err: error, session: id }, 'a session could not be taken over'));
  };
  await Promise.all(abandoned.map((row) => takeOver(row.id)));
}

/** Sessions that are ours and live by their row alone: their end could not be stored when it came. */
async function endForgotten(ports: SessionPorts, lifecycle: Lifecycle): Promise<void> {
  for (const row of await ports.tables.list({ node: ports.node, isLive: true })) {
    if (lifecycle.has(row.id) || Date.now() - Date.parse(row.updated_at) < forgottenMs) continue;
    const message = 'its end could not be stored when it came';
    lifecycle.finishQuietly(row.id, { status: 'failed', reason: message, error: { code: 'limit.storage', message } });
  }
}

/** Boxes of this home that belong to no place of ours and to no other server that lives. */
async function removeStrayBoxes(ports: SessionPorts, ourPlaces: () => string[]): Promise<void> {
  for (const driver of ports.drivers) {
    try {
      if (!(await driver.probe()).available) continue;
      for (const box of await driver.list({ run: ports.runFolder })) {
        const { node, place } = box.labels;
        const isOurs = place !== undefined && ourPlaces().includes(place);
        const isTheirs = node !== ports.node && isNodeAlive(node);
        if (isOurs || isTheirs) continue;
        ports.logger.info({ box: box.id, place }, 'removing a sandbox that belongs to nobody');
        await driver.remove(box.id);
      }
    } catch (error) {
      ports.logger.warn({ err: error, driver: driver.name }, 'sandboxes could not be looked after');
    }
  }
}

async function removeStrayPlaces(ports: SessionPorts, ourPlaces: () => string[]): Promise<void> {
  for (const name of await listPlaces(ports.runFolder)) {
    if (ourPlaces().includes(name) || (await ports.tables.hasPlace(name))) continue;
    const folder = placeAt(ports.runFolder, name).mcp.slice(0, -2);
    const info = await stat(folder).catch(() => undefined);
    // A place is made a moment before its session is stored.
    if (info && Date.now() - info.mtimeMs > youngMs) await rm(folder, { recursive: true, force: true });
  }
}

/** The database holds what is at work; what is over rests in files of its project. */
async function moveFinishedLogs(ports: SessionPorts): Promise<void> {
  for (const id of ports.log.inTable()) {
    const row = await ports.tables.peek(id);
    if (!row || isLive(row) || Date.now() - Date.parse(row.updated_at) < restMs) continue;
    await ports.log
      .moveToFile(id, row.project_id)
      .catch((error: unknown) => ports.logger.warn({ err: error, session: id }, 'the log of a session could not be moved to a file'));
  }
}
