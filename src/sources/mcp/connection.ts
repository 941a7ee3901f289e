import { fail, Failure, timerMs, type ServerConfig } from '../../schema/index.ts';
import { fillConfig, fillGrant } from './fill-config.ts';
import { secondsOf } from './asked-to-wait.ts';
import { cleanText } from './foreign-text.ts';
import type { Link, LinkDeps } from './link.ts';
import { Noise } from './noise.ts';
import { grantOf } from './oauth.ts';
import type { About } from './tool-list.ts';
import { reasonOf, upstreamFailure } from './upstream-failure.ts';
import type { WayOut } from './way-out.ts';
import { WireClosed, type WireHooks } from './wire.ts';

export type ServerState = 'connected' | 'connecting' | 'disconnected' | 'disabled';

export interface ConnectionDeps
  extends Omit<LinkDeps, 'onNoise' | 'onTrouble' | 'onWait' | 'signal' | 'accessToken'>, WayOut {}

export interface ConnectionHooks extends WireHooks {
  onState(state: ServerState): void;
  /** A new connection stands. */
  onLink(link: Link): void;
}

const defaultTimeoutMs = 30_000;
const connectMs = 60_000;
const firstPauseMs = 500;
const longestPauseMs = 60_000;
const longestReason = 500;

/** The connection to one upstream server: made in the background, again and again until it stands, and after a break. */
export class Connection {
  /** What errors call the server. */
  readonly what: string;
  readonly timeoutMs: number;
  /** What the server last said about itself. */
  about: About = { capabilities: {}, serverInfo: {} };
  error: string | undefined;
  readonly noise = new Noise();
  /** The standing connection. */
  link: Link | undefined;
  readonly #config: ServerConfig;
  readonly #deps: ConnectionDeps;
  readonly #hooks: ConnectionHooks;
  readonly #stopping = new AbortController();
  #state: ServerState;
  #opening: Promise<Link> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #failures = 0;
  #lastTry = 0;
  /** Until then, by `performance.now()`, the server wants to be left alone; no longer than the longest pause. */
  #aloneUntil = 0;

  constructor(name: string, config: ServerConfig, deps: ConnectionDeps, hooks: ConnectionHooks) {
    this.what = `MCP server ${name}`;
    this.timeoutMs = config.timeoutMs ?? defaultTimeoutMs;
    this.#state = config.enabled === false ? 'disabled' : 'connecting';
    this.#config = config;
    this.#deps = deps;
    this.#hooks = hooks;
  }

  get state(): ServerState {
    return this.#state;
  }

  get isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  /** Begins in the background. */
  connect(): void {
    if (!this.link && !this.isStopping) void this.ready().catch(() => {});
  }

  /** Resolves when a connection that is being made stands or has failed. */
  async opened(): Promise<void> {
    await this.#opening?.catch(() => {});
  }

  async reconnect(): Promise<void> {
    this.#failures = 0;
    this.#aloneUntil = 0;
    clearTimeout(this.#retry);
    const { link } = this;
    this.link = undefined;
    await link?.close();
    await this.ready();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#retry);
    const { link } = this;
    this.link = undefined;
    this.#state = 'disconnected';
    await Promise.all([link?.close(), this.opened()]);
  }

  kill(): void {
    this.#stopping.abort();
    this.link?.kill();
  }

  /**
   * The standing connection, or the one being made; throws source.unreachable or source.busy. A server that failed a
   * moment ago is not asked again at once.
   */
  async ready(): Promise<Link> {
    if (this.isStopping || this.#config.enabled === false)
      throw this.#unreachable(this.isStopping ? 'the server is stopping' : 'it is disabled in config.yaml');
    if (this.link) return this.link;
    if (!this.#opening && this.#isLeftAlone) throw this.#busy();
    if (!this.#opening && this.#failures > 0 && performance.now() - this.#lastTry < firstPauseMs)
      throw this.#unreachable(this.error ?? 'it is not connected');
    this.#opening ??= this.#open().finally(() => (this.#opening = undefined));
    const waitMs = Math.max(this.timeoutMs, 1000);
    const late = new Promise<never>((_, reject) =>
      setTimeout(() => reject(this.#unreachable(`no connection within ${waitMs} ms`)), timerMs(waitMs)).unref(),
    );
    return Promise.race([this.#opening, late]);
  }

  /** A connection turned out to be gone; the next one is made after a pause, unless this one was not to blame. */
  lost(link: Link, reason: Error, isItsFault = true): void {
    if (this.link !== link) return;
    this.link = undefined;
    this.error = this.noise.explain(this.#tell(reason));
    if (!this.isStopping) this.#breakOff();
    if (!isItsFault) this.#failures = 0;
  }

  /** What went wrong, by one of our names: `asked` is what the server was asked for. */
  failure(error: unknown, asked: string): Failure {
    const { what, timeoutMs } = this;
    return upstreamFailure(error, { what, tool: asked, timeoutMs, tell: this.#tell });
  }

  /** A server may repeat what we sent it: secrets go before the text is cut, as half of one would not be recognised. */
  readonly #tell = (error: Error): string => cleanText(this.#deps.redact(reasonOf(error)), longestReason);

  async #open(): Promise<Link> {
    clearTimeout(this.#retry);
    this.#lastTry = performance.now();
    // One that has failed stays disconnected until it is there: a server that hangs would look like one that just starts.
    if (this.#failures === 0) this.#become('connecting');
    try {
      const config = await fillConfig(this.#config, this.#deps.fillIn);
      // The client half of the SDK comes with the first connection: many servers have no upstream.
      const { openLink } = await import('./link.ts');
      const onNoise = (line: string): void => this.noise.keep(line);
      const onWait = (ms: number): void => void (this.#aloneUntil = performance.now() + Math.min(ms, longestPauseMs));
      const onTrouble = (error: Error): void => this.noise.keep(`[connection] ${this.#tell(error)}`);
      const link = await openLink(
        config,
        this.#hooks,
        { ...this.#deps, onNoise, onTrouble, onWait, signal: this.#stopping.signal, accessToken: this.#accessToken },
        connectMs,
      );
      if (this.isStopping) {
        await link.close();
        throw new WireClosed('the server is stopping');
      }
      this.#stands(link);
      return link;
    } catch (error) {
      this.error = this.noise.explain(this.#tell(error as Error));
      const failure = this.failure(error instanceof Failure ? error : new Error(this.error), 'connect');
      this.noise.keep(`[connect] ${failure.message}`);
      this.#breakOff();
      throw this.#isLeftAlone ? this.#busy() : failure;
    }
  }

  /** Asked anew each time: the refresh token may have been replaced since. */
  get #accessToken(): LinkDeps['accessToken'] {
    const { oauth } = this.#config;
    const { fillIn, accessToken } = this.#deps;
    return oauth && (async (rejected) => accessToken(grantOf(oauth, await fillGrant(oauth, fillIn)), rejected));
  }

  #stands(link: Link): void {
    this.link = link;
    this.#failures = 0;
    this.#aloneUntil = 0;
    this.error = undefined;
    const { capabilities, instructions, serverInfo } = link;
    this.about = { capabilities, instructions, serverInfo };
    link.onClose(() => this.lost(link, new WireClosed('the connection was closed')));
    this.#become('connected');
    this.#hooks.onLink(link);
  }

  #breakOff(): void {
    this.#failures++;
    this.#become('disconnected');
    if (this.isStopping) return;
    const usualMs =
      Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(this.#failures, 10)) * (0.75 + Math.random() / 2);
    this.#retryIn(usualMs);
  }

  #retryIn(ms: number): void {
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => {
      if (this.#isLeftAlone) this.#retryIn(this.#aloneMs);
      else void this.ready().catch(() => {});
    }, ms);
    this.#retry.unref();
  }

  #become(state: ServerState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#hooks.onState(state);
  }

  get #aloneMs(): number {
    return Math.ceil(this.#aloneUntil - performance.now());
  }

  get #isLeftAlone(): boolean {
    return this.#aloneMs > 0;
  }

  #busy(): Failure {
    return fail('source.busy', { what: this.what, seconds: secondsOf(this.#aloneMs) });
  }

  #unreachable(reason: string): Failure {
    return fail('source.unreachable', { what: this.what, reason });
  }
}
