import { refusal, send } from './client.ts';
import { ApiError } from './errors.ts';
import { framesOf, type Frame } from './frames.ts';
import { currentPresence, markReachable } from './presence.ts';

export type StreamState = 'connecting' | 'live' | 'lost' | 'over';

interface Following {
  /** Called for every frame but pings. */
  onFrame(frame: Frame): void;
  onState?(state: StreamState, error?: ApiError): void;
  /** The address to open next; asked again after every cut, so that it can carry the newest cursor. */
  path(): string;
}

const firstWaitMs = 400;
const longestWaitMs = 8_000;
const defaultPingMs = 15_000;

/** Keeps one event stream open through cuts, restarts and expired sign-ins, until the returned function is called. */
export function follow(following: Following): () => void {
  const stop = new AbortController();
  void run(following, stop.signal);
  return () => stop.abort();
}

async function run(following: Following, stopped: AbortSignal): Promise<void> {
  let waitMs = firstWaitMs;
  while (!stopped.aborted) {
    following.onState?.('connecting');
    try {
      await readOnce(following, stopped, () => (waitMs = firstWaitMs));
    } catch (error) {
      if (stopped.aborted) return;
      if (error instanceof ApiError && isFinal(error.status)) {
        following.onState?.('over', error);
        return;
      }
    }
    if (stopped.aborted) return;
    following.onState?.('lost');
    do {
      await pause(waitMs * (0.75 + Math.random() / 2), stopped);
    } while (!stopped.aborted && currentPresence().state !== 'in');
    waitMs = Math.min(waitMs * 2, longestWaitMs);
  }
}

/** An expired sign-in and a busy server pass; any other refusal would be the same again. */
const isFinal = (status: number): boolean => status >= 400 && status < 500 && ![401, 408, 429].includes(status);

async function readOnce(following: Following, stopped: AbortSignal, onLive: () => void): Promise<void> {
  const silence = new AbortController();
  let pingMs = defaultPingMs;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const heard = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      markReachable(false);
      silence.abort();
    }, pingMs * 3);
  };
  try {
    heard();
    const signal = AbortSignal.any([stopped, silence.signal]);
    const response = await send('GET', following.path(), { signal, headers: { accept: 'text/event-stream' } });
    if (!response.ok || !response.body) throw refusal(response, await response.json().catch(() => null));
    following.onState?.('live');
    onLive();
    for await (const frame of framesOf(response.body)) {
      heard();
      if (frame.event === 'ping') continue;
      if (frame.event === 'hello') pingMs = pingOf(frame) ?? pingMs;
      following.onFrame(frame);
    }
  } finally {
    clearTimeout(timer);
  }
}

function pingOf(frame: Frame): number | undefined {
  try {
    const { ping_ms } = JSON.parse(frame.data) as { ping_ms?: number };
    return ping_ms && ping_ms > 0 ? ping_ms : undefined;
  } catch {
    return undefined;
  }
}

function pause(ms: number, stopped: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    stopped.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
  });
}
