import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { fail, type Failure } from '../../schema/index.ts';

/** Every body may have this much, however full it is: those who send little do not pay for those who send a lot. */
const freeBytes = 64 * 1024;
/** Who sends nothing for this long has gone, or keeps the room from others. */
const quietMs = 60_000;
const retrySeconds = 1;

export const hasBody = (headers: IncomingHttpHeaders): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** Where bodies lie while they come in: as many as there are senders, but together no more than there is room for. */
export class BodyRoom {
  readonly #maxBytes: number;
  readonly #quietMs: number;
  #usedBytes = 0;

  constructor(maxBytes: number, quiet = quietMs) {
    this.#maxBytes = maxBytes;
    this.#quietMs = quiet;
  }

  /** What lies in it now. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** The whole of a body; fails with body.too_large, server.busy, or request.timeout when the sender stops or goes. */
  read(request: IncomingMessage, limit: number): Promise<Buffer> {
    if (Number(request.headers['content-length'] ?? 0) > limit)
      return Promise.reject(fail('body.too_large', { limit }));
    if (request.destroyed && !request.readableEnded) return Promise.reject(fail('request.timeout'));
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      const take = (chunk: Buffer): void => {
        bytes += chunk.length;
        this.#usedBytes += chunk.length;
        if (bytes > limit) return leave(fail('body.too_large', { limit }));
        if (this.#usedBytes > this.#maxBytes && bytes > freeBytes)
          return leave(fail('server.busy', { seconds: retrySeconds }));
        chunks.push(chunk);
        quiet.refresh();
      };
      const whole = (): void => leave();
      const gone = (): void => leave(fail('request.timeout'));
      const leave = (failure?: Failure): void => {
        clearTimeout(quiet);
        this.#usedBytes -= bytes;
        request.off('data', take).off('end', whole).off('close', gone);
        if (failure) reject(failure);
        else resolve(Buffer.concat(chunks, bytes));
      };
      const quiet = setTimeout(gone, this.#quietMs);
      // Whoever hangs up is heard of by `close`.
      request.on('data', take).on('end', whole).on('close', gone).on('error', ignore);
    });
  }
}

const ignore = (): void => {};
