import { realpath } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fail, type Settings } from '../schema/index.ts';
import { createFile, ProcessLock, replaceFile } from '../store/index.ts';
import { edited } from './edit.ts';
import { exampleConfig } from './example.ts';
import { BrokenFiles, loadAll, type Loaded } from './load.ts';
import { asWritten, toSettings } from './settings.ts';
import { refuseUnknown, type Nearest } from './unknown-setting.ts';
import { FileWatch } from './watch.ts';
import { inWords, Problems, readText } from './yaml-file.ts';

/** What a reload found: `ok` false means the old settings keep serving. */
export interface ReloadReport {
  ok: boolean;
  /** Each with file, line and what to do. */
  errors: string[];
}

export interface ConfigPaths {
  config: string;
  prompts: string;
  /** The folder of the lock that processes take before they edit. */
  run: string;
}

/** The two YAML files as one checked, always valid value. */
export interface ConfigRoom {
  current(): Settings;
  /** Reads the files again, all or nothing. */
  reload(): Promise<ReloadReport>;
  /** The report of the newest reading: not `ok` while a broken file waits to be mended. */
  report(): ReloadReport;
  onChange(listener: (settings: Settings) => void): () => void;
  /** Fires once per new report of a reading that was refused, and once when all is well again. */
  onReport(listener: (report: ReloadReport) => void): () => void;
  /**
   * Sets (or with undefined deletes) one value in config.yaml, comments kept; refused when the result is not valid, or
   * when what is deleted is no setting.
   */
  edit(path: readonly (string | number)[], value: unknown): Promise<void>;
  close(): void;
}

/** Reads and watches the files; missing ones mean defaults, and config.yaml is then written as a commented example. Throws config.invalid. */
export async function openConfig(paths: ConfigPaths, nearest: Nearest = () => undefined): Promise<ConfigRoom> {
  const files = { config: resolve(paths.config), prompts: resolve(paths.prompts), run: resolve(paths.run) };
  // A home that cannot be written still serves its defaults.
  await createFile(files.config, exampleConfig).catch(() => false);
  let loaded: Loaded;
  try {
    loaded = await loadAll(files);
  } catch (error) {
    throw asConfigFailure(error);
  }
  const room = new WatchedConfig(files, loaded, nearest);
  await room.watch();
  return room;
}

class WatchedConfig implements ConfigRoom {
  readonly #paths: ConfigPaths;
  readonly #nearest: Nearest;
  readonly #changed = new Set<(settings: Settings) => void>();
  readonly #reported = new Set<(report: ReloadReport) => void>();
  readonly #watch: FileWatch;
  #settings: Settings;
  #files: Map<string, string | undefined>;
  #report: ReloadReport = { ok: true, errors: [] };
  /** Readings and edits take turns: none works on what another is replacing. */
  #turn: Promise<unknown> = Promise.resolve();
  /** Another process may edit at the same moment. Opened by the first edit. */
  #lock: ProcessLock | undefined;

  constructor(paths: ConfigPaths, loaded: Loaded, nearest: Nearest) {
    this.#paths = paths;
    this.#nearest = nearest;
    this.#settings = this.#fill(loaded);
    this.#files = loaded.files;
    this.#watch = new FileWatch(() => void this.reload());
  }

  /** Watches what was read, and `more`; a file that was written during the reading counts as changed. */
  async watch(read = this.#files, more: Iterable<string> = []): Promise<void> {
    await this.#watch.look(new Set([...read.keys(), ...more]));
    for (const [file, text] of read)
      if ((await readText(file).catch(() => undefined)) !== text) return this.#watch.distrust();
  }

  current(): Settings {
    return this.#settings;
  }

  report(): ReloadReport {
    return this.#report;
  }

  reload(): Promise<ReloadReport> {
    return this.#inTurn(async () => {
      try {
        await this.#take(await loadAll(this.#paths));
      } catch (error) {
        if (!(error instanceof BrokenFiles)) throw error;
        // Files of the last good reading stay watched: the broken text may no longer name the one that will be repaired.
        await this.watch(error.files, this.#files.keys());
        this.#tell({ ok: false, errors: error.list.map(inWords) });
      }
      return this.#report;
    });
  }

  edit(path: readonly (string | number)[], value: unknown): Promise<void> {
    return this.#inTurn(async () => {
      this.#lock ??= new ProcessLock(join(this.#paths.run, 'config.lock'));
      try {
        await this.#lock.hold(() => this.#write(path, value));
      } catch (error) {
        throw asConfigFailure(error);
      }
    });
  }

  async #write(path: readonly (string | number)[], value: unknown): Promise<void> {
    for (let tries = 0; ; tries++) {
      const before = (await readText(this.#paths.config)) ?? '';
      const after = edited(this.#paths.config, before, path, value);
      const loaded = await loadAll(this.#paths, { file: this.#paths.config, text: after });
      if (value === undefined) refuseInherited(loaded, path);
      if (after === before && value === undefined) refuseUnknown(asWritten(this.#fill(loaded)), path, this.#nearest);
      // Somebody wrote by hand between reading and now: start again from their text.
      if (((await readText(this.#paths.config)) ?? '') !== before && tries < 10) continue;
      // A link to a file elsewhere stays one.
      await replaceFile(await realpath(this.#paths.config).catch(() => this.#paths.config), after);
      return this.#take(loaded);
    }
  }

  onChange(listener: (settings: Settings) => void): () => void {
    this.#changed.add(listener);
    return () => this.#changed.delete(listener);
  }

  onReport(listener: (report: ReloadReport) => void): () => void {
    this.#reported.add(listener);
    return () => this.#reported.delete(listener);
  }

  close(): void {
    this.#watch.close();
    void this.#lock?.close();
    this.#changed.clear();
    this.#reported.clear();
  }

  async #take(loaded: Loaded): Promise<void> {
    const before = JSON.stringify(this.#settings);
    this.#settings = this.#fill(loaded);
    this.#files = loaded.files;
    await this.watch();
    this.#tell({ ok: true, errors: [] });
    if (JSON.stringify(this.#settings) !== before) for (const listener of this.#changed) listener(this.#settings);
  }

  #tell(report: ReloadReport): void {
    const isNews = report.errors.join('\n') !== this.#report.errors.join('\n');
    this.#report = report;
    if (isNews) for (const listener of this.#reported) listener(report);
  }

  #fill(loaded: Loaded): Settings {
    return toSettings(loaded.config, loaded.prompts, dirname(this.#paths.config));
  }

  #inTurn<T>(step: () => Promise<T>): Promise<T> {
    const mine = this.#turn.then(step);
    this.#turn = mine.catch(() => nextTurn());
    return mine;
  }
}

/** Deleting a key that an included file sets would have no effect, so it is refused. */
function refuseInherited(loaded: Loaded, path: readonly (string | number)[]): void {
  let value: unknown = loaded.config;
  for (const step of path) value = (value as Record<string | number, unknown> | undefined)?.[step];
  if (value !== undefined)
    throw fail('request.invalid', { reason: `${path.join('.')} is set in an included file. Remove it there.` });
}

function asConfigFailure(error: unknown): unknown {
  const [first, ...others] = error instanceof Problems ? error.list : [];
  if (!first) return error;
  return fail(
    'config.invalid',
    { file: first.file, line: first.line, reason: first.reason },
    { details: [first, ...others].map((each) => ({ path: `${each.file}:${each.line}`, message: each.reason })) },
  );
}
