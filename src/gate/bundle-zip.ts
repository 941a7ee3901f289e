import { setImmediate as nextTurn } from 'node:timers/promises';
import { inflateRawSync } from 'node:zlib';
import { Unzip, zip, type AsyncZippable, type FlateError, type UnzipDecoder } from 'fflate';
import { fail, isObject } from '../schema/index.ts';

/** A bundle and its tools as they lie in the file: what a person may set, and nothing that the server owns. */
export interface PackedBundle {
  bundle: Record<string, unknown> & { id: string; slug: string };
  tools: (Record<string, unknown> & { slug: string; version: string })[];
}

const manifestName = 'oubliette.json';
const format = 1;
const maxLooseBytes = 32 * 2 ** 20;
const limits = { entries: 100_000, entryBytes: 4 * 2 ** 20, totalBytes: 256 * 2 ** 20 };

/** `oubliette.json`, and per bundle a folder with `bundle.json` and one file per tool version. */
export function zipBundles(bundles: readonly PackedBundle[]): Promise<Uint8Array> {
  return zipped(bundles, (value) => jsonBytes(value, 2), 6);
}

/** The same for a server, which takes it apart at once: to make it small costs more than to send it, up to a size. */
export async function zipToSend(bundles: readonly PackedBundle[]): Promise<Uint8Array> {
  const loose = await zipped(bundles, (value) => jsonBytes(value, 0), 0);
  return loose.length <= maxLooseBytes ? loose : zipped(bundles, (value) => jsonBytes(value, 0), 6);
}

function zipped(
  bundles: readonly PackedBundle[],
  bytesOf: (value: unknown) => Uint8Array,
  level: 0 | 6,
): Promise<Uint8Array> {
  const files: AsyncZippable = { [manifestName]: bytesOf({ format, exportedAt: new Date().toISOString() }) };
  for (const { bundle, tools } of bundles) {
    files[`${bundle.slug}/bundle.json`] = bytesOf(bundle);
    for (const tool of tools) files[`${bundle.slug}/tools/${tool.slug}/${tool.version}.json`] = bytesOf(tool);
  }
  return new Promise((resolve, reject) =>
    zip(files, { level }, (error, bytes) => (error ? reject(error) : resolve(bytes))),
  );
}

/** Reads such a file. Anything else, anything too large and any path that could lead elsewhere is `import.invalid`. */
export async function unzipBundles(bytes: Uint8Array): Promise<PackedBundle[]> {
  const files = await unzip(bytes);
  const manifest = files.get(manifestName);
  if (!manifest) throw invalid(`it has no ${manifestName}: it was not made by export`);
  if (manifest['format'] !== format)
    throw invalid(`its format is ${JSON.stringify(manifest['format'])}, this version knows ${format}`);
  files.delete(manifestName);
  const found = new Map<string, PackedBundle>();
  for (const [path, value] of files)
    if (path.split('/').length === 2) {
      if (typeof value['id'] !== 'string' || typeof value['slug'] !== 'string')
        throw invalid(`${path} has no id or no slug`);
      found.set(path.split('/')[0]!, { bundle: value as PackedBundle['bundle'], tools: [] });
    }
  for (const [path, value] of files) {
    if (path.split('/').length === 2) continue;
    const owner = found.get(path.split('/')[0]!);
    if (!owner) throw invalid(`${path} belongs to no bundle.json`);
    if (typeof value['slug'] !== 'string' || typeof value['version'] !== 'string')
      throw invalid(`${path} has no slug or no version`);
    owner.tools.push(value as PackedBundle['tools'][number]);
  }
  return [...found.values()];
}

const isKnownPath = /^(oubliette\.json|[^/]+\/bundle\.json|[^/]+\/tools\/[^/]+\/[^/]+\.json)$/u;

async function unzip(bytes: Uint8Array): Promise<Map<string, Record<string, unknown>>> {
  const files = new Map<string, Record<string, unknown>>();
  const open = new Set<string>();
  let total = 0;
  let problem: Error | undefined;
  const reader = new Unzip((file) => {
    const { name } = file;
    if (name.endsWith('/')) return;
    problem ??= refuseEntry(name, files.size + open.size, files.has(name) || open.has(name));
    if (problem) return;
    open.add(name);
    const chunks: Uint8Array[] = [];
    let size = 0;
    file.ondata = (error, chunk, isLast) => {
      if (error) problem ??= invalid(`${name} is damaged`);
      size += chunk?.length ?? 0;
      total += chunk?.length ?? 0;
      if (size > limits.entryBytes) problem ??= invalid(`${name} is larger than ${limits.entryBytes} bytes`);
      if (total > limits.totalBytes) problem ??= invalid(`it unpacks to more than ${limits.totalBytes} bytes`);
      if (problem) return file.terminate();
      chunks.push(chunk);
      if (!isLast) return;
      open.delete(name);
      try {
        files.set(name, parseObject(name, Buffer.concat(chunks)));
      } catch (failure) {
        problem ??= failure as Error;
      }
    };
    file.start();
  });
  reader.register(InflateWhole);
  // Small bites, with a turn for others between them: a bite of a bomb unpacks to a thousand times its size.
  const bite = 4096;
  for (let at = 0; at < bytes.length && !problem; at += bite) {
    try {
      reader.push(bytes.subarray(at, at + bite), at + bite >= bytes.length);
    } catch (error) {
      problem ??= invalid('it is no ZIP file, or it is damaged', error);
    }
    if ((at / bite) % 16 === 0) await nextTurn();
  }
  if (!problem && open.size > 0) problem = invalid(`it ends in the middle of ${[...open][0]}`);
  if (problem) throw problem;
  return files;
}

/** Unpacks an entry when all of it is there, and no further than an entry may be large. */
class InflateWhole implements UnzipDecoder {
  static readonly compression = 8;
  ondata!: UnzipDecoder['ondata'];
  readonly #chunks: Uint8Array[] = [];

  push(chunk: Uint8Array, isLast: boolean): void {
    // The reader uses its buffer again.
    this.#chunks.push(chunk.slice());
    if (!isLast) return;
    try {
      this.ondata(null, inflateRawSync(Buffer.concat(this.#chunks), { maxOutputLength: limits.entryBytes }), true);
    } catch (error) {
      // What is too large is told as such, by its size.
      const isLarge = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
      this.ondata(isLarge ? null : (error as FlateError), isLarge ? new Uint8Array(limits.entryBytes + 1) : new Uint8Array(0), true);
    }
  }
}

function refuseEntry(name: string, count: number, isThere: boolean): Error | undefined {
  const shown = JSON.stringify(name.slice(0, 200));
  if (count >= limits.entries) return invalid(`it holds more than ${limits.entries} files`);
  if (/[\\\0]/.test(name) || name.split('/').some((part) => part === '' || part === '.' || part === '..'))
    return invalid(`it holds the unsafe path ${shown}`);
  if (!isKnownPath.test(name)) return invalid(`it holds ${shown}, which is neither a bundle nor a tool`);
  return isThere ? invalid(`it holds ${shown} twice`) : undefined;
}

function parseObject(name: string, bytes: Uint8Array): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(decoder.decode(bytes));
  } catch (error) {
    throw invalid(`${name} is not JSON: ${(error as Error).message}`);
  }
  if (!isObject(value)) throw invalid(`${name} holds no object`);
  return value;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true });

const jsonBytes = (value: unknown, indent: number): Uint8Array =>
  encoder.encode(`${JSON.stringify(value, null, indent)}\n`);

function invalid(reason: string, cause?: unknown): Error {
  return fail('import.invalid', { reason }, { cause });
}
