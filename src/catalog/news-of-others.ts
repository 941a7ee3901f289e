import { parseUuid7, SharedRuns } from '../schema/index.ts';
import type { ChangeLog, News } from './change-log.ts';
import type { FolderLook, Looking } from './folder-look.ts';
import type { StoredRecords } from './stored-records.ts';

/** Stands for the switches table in the list of changed paths. */
export const switchesPath = 'switches';

/** What others wrote is taken in together; while our own callers wait for the disk, they come first. */
const takeInAfterMs = 50;
const takeInAfterBusyMs = 250;

export interface NewsOfOthersOptions {
  log: ChangeLog;
  records: StoredRecords;
  look: FolderLook;
  /** True while callers of this process wait for changes of their own. */
  isBusy: () => boolean;
  /** Another process changed switches of offered bundles or tools. */
  onSwitches: () => void;
  /** Does what nobody waits for. */
  inBackground: (work: () => Promise<void>) => void;
}

/** What the other processes that share the catalog tell of their changes, taken into the records of this one. */
export class NewsOfOthers {
  readonly #options: NewsOfOthersOptions;
  /** Others may have told much a moment ago: a flood of look-ups in vain must not go through all of it one by one. */
  readonly #freshening = new SharedRuns(() => this.#lookAtLatest());
  #takingIn: NodeJS.Timeout | undefined;
  #settledSeq = 0;
  #settlingSeq = 0;

  constructor(options: NewsOfOthersOptions) {
    this.#options = options;
  }

  /** How long one may wait for more before it is taken in. */
  get takeInAfterMs(): number {
    return this.#options.isBusy() ? takeInAfterBusyMs : takeInAfterMs;
  }

  /** Reads what was told, up to a row before which nothing is under way any more. */
  async takeIn(upTo: number): Promise<void> {
    const { log, look } = this.#options;
    const news = log.newsSince(log.seen);
    if (news.isBroken) await look.through(() => false);
    await this.#lookAtNews(news);
    log.saw(upTo);
  }

  /** Nothing that we do depends on it yet: many of them are taken in together. */
  takeInLater(upTo: number): void {
    this.#takingIn ??= setTimeout(() => {
      this.#takingIn = undefined;
      this.#options.inBackground(() => this.takeIn(upTo));
    }, this.takeInAfterMs).unref();
  }

  /** Looks at what was told until now; answers the newest row. */
  freshen(): Promise<number> {
    return this.#freshening.run();
  }

  async #lookAtLatest(): Promise<number> {
    const { log } = this.#options;
    const news = log.newsSince(Math.max(log.seen, this.#settledSeq));
    await this.#lookAtNews(news);
    return news.upTo;
  }

  /** One of the rounds in which all that was told lately is looked at. */
  async lookAround(): Promise<void> {
    const newest = await this.freshen();
    // Announced is not yet moved: each row is looked at in two rounds before it counts as seen.
    this.#settledSeq = Math.max(this.#settledSeq, this.#settlingSeq);
    this.#settlingSeq = newest;
  }

  /** Looks at what was touched, by whomever. */
  lookAtTouched(paths: Set<string>): Promise<void> {
    const { log } = this.#options;
    // What others told lately they put into the cache, too.
    return this.#lookAtAll(paths, log.toldSince(Math.max(log.seen, this.#settledSeq)));
  }

  /** What is new and known already needs no second look: whoever makes a file finds nothing in its place. */
  async #lookAtNews({ made, changed }: News): Promise<void> {
    const paths = new Set(changed);
    for (const path of made) if (!this.#options.records.stampOf(path)) paths.add(path);
    await this.#lookAtAll(paths, paths);
  }

  async #lookAtAll(paths: Set<string>, told: Looking['told']): Promise<void> {
    const { look, onSwitches } = this.#options;
    const files: string[] = [];
    for (const path of paths) {
      if (path === switchesPath) onSwitches();
      else if (parseUuid7(path) === path) await look.atFolder(path);
      else files.push(path);
    }
    await look.at(files, { told });
  }

  close(): void {
    clearTimeout(this.#takingIn);
  }
}
