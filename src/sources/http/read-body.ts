import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress, type Zlib } from 'node:zlib';
import { fail } from '../../schema/index.ts';
import { decodeText } from './decode-text.ts';
import type { DialAnswer } from './dialler.ts';

type Unpacker = NodeJS.ReadWriteStream & Zlib;

const unpackers: Record<string, () => Unpacker> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};

/** What we can unpack, for Accept-Encoding. */
export const acceptedEncodings = 'gzip, deflate, br';

/**
 * Hands on an answer's bytes, unpacked, piece by piece, and counts them after unpacking: whatever is larger than
 * `maxBytes` ends as response.too_large at the first byte too many. Network trouble is thrown as it came.
 */
export function readBody(
  answer: DialAnswer,
  maxBytes: number,
  tool: string,
  onChunk: (chunk: Buffer) => void,
): Promise<void> {
  const declared = Number(answer.headers['content-length']);
  return new Promise((resolve, reject) => {
    const { body } = answer;
    let stream: Readable = body;
    let isOver = false;
    const stop = (error: unknown): void => {
      if (isOver) return;
      isOver = true;
      // Both ends: a bomb must not go on unpacking behind our back.
      for (const each of new Set([body, stream])) each.on('error', () => {}).destroy();
      reject(error as Error);
    };
    const tooLarge = (): void => stop(fail('response.too_large', { tool, limit: maxBytes }));
    try {
      stream = unpacked(body, answer.headers['content-encoding'], stop);
    } catch (error) {
      return stop(error);
    }
    if (stream === body && declared > maxBytes && !answer.isHead) return tooLarge();
    let size = 0;
    stream.on('data', (chunk: Buffer) => {
      if (isOver) return;
      size += chunk.length;
      if (size > maxBytes) return tooLarge();
      try {
        onChunk(chunk);
      } catch (error) {
        stop(error);
      }
    });
    stream.on('end', resolve);
    stream.on('error', (error) => stop(stream === body ? error : garbled(error)));
  });
}

/** The whole body as text, at most `maxBytes` of it. */
export async function readText(answer: DialAnswer, maxBytes: number, tool: string): Promise<string> {
  const bytes = await readBytes(answer, maxBytes, tool);
  return decodeText(bytes, String(answer.headers['content-type'] ?? ''));
}

export async function readBytes(answer: DialAnswer, maxBytes: number, tool: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  await readBody(answer, maxBytes, tool, (chunk) => chunks.push(chunk));
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
}

function unpacked(
  body: Readable,
  encoding: string | string[] | undefined,
  onError: (error: unknown) => void,
): Readable {
  const layers = String(encoding ?? '')
    .toLowerCase()
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '' && each !== 'identity');
  // Each layer multiplies: no server has a reason to wrap its answer three times.
  if (layers.length > 2) throw fail('tool.failed', { reason: `The answer is compressed ${layers.length} times over.` });
  let stream = body;
  for (const layer of layers.toReversed()) {
    const open = unpackers[layer];
    if (!open)
      throw fail('tool.failed', {
        reason: `The answer is compressed as ${layer.slice(0, 40)}, which is not supported.`,
      });
    stream.on('error', onError);
    // Node's types do not tell that its unpackers are streams to read from.
    stream = stream.pipe(open()) as unknown as Readable;
  }
  return stream;
}

function garbled(error: Error): Error {
  return fail('tool.failed', { reason: `The answer cannot be decompressed: ${error.message}` }, { cause: error });
}
