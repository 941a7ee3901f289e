import { setImmediate as nextTurn } from 'node:timers/promises';
import { zip, type AsyncZippable } from 'fflate';
import { fail, Failure, isObject, lostWhenStored } from '../schema/index.ts';
import { DamagedZip, zipEntries, type ZipEntry } from './zip-entries.ts';

export type PackedTool = Record<string, unknown> & { slug: string; version: string };

/** A bundle and its tools as they lie in the file: what a person may set, and nothing that the server owns. */
export interface PackedBundle {
  bundle: Record<string, unknown> & { id: string; slug: string };
  /** Of a large file only one is in memory at a time. */
  tools: Iterable<PackedTool>;
}

/** A file of the catalog that could not be read, and is therefore not in the export. */
export interface LeftOut {
  /** Its slug, where that is known. */
  bundle?: string;
  /** Below the folder of the catalog. */
  file: string;
  reason: string;
}

const manifestName = 'oubliette.json';
const format = 1;
const maxLooseBytes = 32 * 2 ** 20;
/** A file may be some times as large as the largest body of a request is by default: in there it may be written shorter. */
const limits = { entries: 100_000, entryBytes: 16 * 2 ** 20, totalBytes: 256 * 2 ** 20 };
const maxReadableBytes = 2 ** 20;

/** `oubliette.json`, and per bundle a folder with `bundle.json` and one file per tool version. */
export function zipBundles(bundles: readonly PackedBundle[], leftOut: readonly LeftOut[] = []): Promise<Uint8Array> {
  return zipped(bundles, readableBytes, 6, leftOut);
}

/** For a server that unpacks it at once: up to a size, sending it uncompressed is cheaper than compressing it. */
export async function zipToSend(bundles: readonly PackedBundle[]): Promise<Uint8Array> {
  const loose = await zipped(bundles, (value) => jsonBytes(value, 0), 0);
  return loose.length <= maxLooseBytes ? loose : zipped(bundles, (value) => jsonBytes(value, 0), 6);
}

function zipped(
  bundles: readonly PackedBundle[],
  bytesOf: (value: unknown) => Uint8Array,
  level: 0 | 6,
  leftOut: readonly LeftOut[] = [],
): Promise<Uint8Array> {
  const manifest = { format, exportedAt: new Date().toISOString(), ...(leftOut.length > 0 && { leftOut }) };
  const files: AsyncZippable = { [manifestName]: bytesOf(manifest) };
  for (const { bundle, tools } of bundles) {
    files[`${bundle.slug}/bundle.json`] = bytesOf(bundle);
    for (const tool of tools) files[`${bundle.slug}/tools/${tool.slug}/${tool.version}.json`] = bytesOf(tool);
  }
  return new Promise((resolve, reject) =>
    zip(files, { level }, (error, bytes) => (error ? reject(error) : resolve(bytes))),
  );
}

/**
 * Reads such a file. Anything else, anything too large and any path that could lead elsewhere is `import.invalid`.
 * A tool is unpacked when its turn comes, each time it is asked for: one that is damaged is told then.
 */
export async function unzipBundles(bytes: Uint8Array): Promise<PackedBundle[]> {
  const { manifest, bundles, tools } = await listed(bytes);
  if (!manifest) throw invalid(`it has no ${manifestName}: it was not made by export`);
  const { format: given } = parseObject(manifest);
  if (given !== format) throw invalid(`its format is ${JSON.stringify(given)}, this version knows ${format}`);
  for (const [folder, [first]] of tools)
    if (!bundles.has(folder)) throw invalid(`${first!.name} belongs to no bundle.json`);
  const packed: PackedBundle[] = [];
  for (const [folder, entry] of bundles) {
    await nextTurn();
    const bundle = parseObject(entry);
    if (typeof bundle['id'] !== 'string' || typeof bundle['slug'] !== 'string')
      throw invalid(`${entry.name} has no id or no slug`);
    packed.push({ bundle: bundle as PackedBundle['bundle'], tools: new ZippedTools(tools.get(folder) ?? []) });
  }
  return packed;
}

/** What the list of an export says is not in it. */
export async function leftOutOf(bytes: Uint8Array): Promise<LeftOut[]> {
  const { manifest } = await listed(bytes);
  const { leftOut = [] } = manifest ? parseObject(manifest) : {};
  return leftOut as LeftOut[];
}

class ZippedTools implements Iterable<PackedTool> {
  readonly #entries: readonly ZipEntry[];

  constructor(entries: readonly ZipEntry[]) {
    this.#entries = entries;
  }

  *[Symbol.iterator](): Generator<PackedTool, void, void> {
    for (const entry of this.#entries) {
      const tool = parseObject(entry);
      if (typeof tool['slug'] !== 'string' || typeof tool['version'] !== 'string')
        throw invalid(`${entry.name} has no slug or no version`);
      yield tool as PackedTool;
    }
  }
}

const knownPath = /^(?:oubliette\.json|([^/]+)\/(?:bundle\.json|(tools)\/[^/]+\/[^/]+\.json))$/u;
const listAtOnce = 500;

interface Listed {
  manifest: ZipEntry | undefined;
  bundles: Map<string, ZipEntry>;
  tools: Map<string, ZipEntry[]>;
}

/** All that is in the file, by folder. */
async function listed(bytes: Uint8Array): Promise<Listed> {
  const found: Listed = { manifest: undefined, bundles: new Map(), tools: new Map() };
  const names = new Set<string>();
  let total = 0;
  let looked = 0;
  for (const entry of entriesOf(bytes)) {
    if (++looked % listAtOnce === 0) await nextTurn();
    if (entry.name.endsWith('/')) continue;
    const [, folder, isTool] = placeOf(entry, names);
    names.add(entry.name);
    total += entry.size;
    if (total > limits.totalBytes) throw invalid(`it unpacks to more than ${limits.totalBytes} bytes`);
    if (folder === undefined) found.manifest = entry;
    else if (isTool === undefined) found.bundles.set(folder, entry);
    else if (!found.tools.get(folder)?.push(entry)) found.tools.set(folder, [entry]);
  }
  return found;
}

function* entriesOf(bytes: Uint8Array): Generator<ZipEntry, void, void> {
  try {
    yield* zipEntries(bytes);
  } catch (error) {
    throw error instanceof DamagedZip ? invalid(`it is no ZIP file, or it is damaged: ${error.message}`, error) : error;
  }
}

function placeOf({ name, size }: ZipEntry, others: ReadonlySet<string>): RegExpExecArray {
  const shown = JSON.stringify(name.slice(0, 200));
  if (others.size >= limits.entries) throw invalid(`it holds more than ${limits.entries} files`);
  if (/[\\\0]/.test(name) || name.split('/').some((part) => part === '' || part === '.' || part === '..'))
    throw invalid(`it holds the unsafe path ${shown}`);
  const place = knownPath.exec(name);
  if (!place) throw invalid(`it holds ${shown}, which is neither a bundle nor a tool`);
  if (others.has(name)) throw invalid(`it holds ${shown} twice`);
  if (size > limits.entryBytes) throw invalid(`${name} is larger than ${limits.entryBytes} bytes`);
  return place;
}

function parseObject(entry: ZipEntry): Record<string, unknown> {
  const { name } = entry;
  let value: unknown;
  try {
    const text = decoder.decode(unpacked(entry));
    value = JSON.parse(text);
    const lost = lostWhenStored(text);
    if (lost) throw invalid(`in ${name}, ${lost.path} is ${lost.digits}, an integer too long to be kept exactly`);
  } catch (error) {
    throw error instanceof Failure ? error : invalid(`${name} is not JSON: ${(error as Error).message}`);
  }
  if (!isObject(value)) throw invalid(`${name} holds no object`);
  return value;
}

function unpacked(entry: ZipEntry): Uint8Array {
  try {
    return entry.read();
  } catch (error) {
    throw invalid(`${entry.name} is damaged`, error);
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true });

/** For people to read, unless the space before every line makes it much larger. */
function readableBytes(value: unknown): Uint8Array {
  const bytes = jsonBytes(value, 2);
  return bytes.length > maxReadableBytes ? jsonBytes(value, 0) : bytes;
}

const jsonBytes = (value: unknown, indent: number): Uint8Array =>
  encoder.encode(`${JSON.stringify(value, null, indent)}\n`);

function invalid(reason: string, cause?: unknown): Error {
  return fail('import.invalid', { reason }, { cause });
}
