import { hash } from 'node:crypto';
import { join } from 'node:path';
import { Type, type Static } from 'typebox';
import { BundleBody, check, parseUuid7, ToolBody, type Bundle } from '../schema/index.ts';

export const schemaVersion = 1;

/** bundle.json in a bundle's folder. */
export const BundleFile = Type.Object({
  ...BundleBody.properties,
  schemaVersion: Type.Integer(),
  id: Type.String(),
  createdAt: Type.String(),
  modifiedAt: Type.String(),
  softDeletedAt: Type.Optional(Type.String()),
});
export type BundleFile = Static<typeof BundleFile>;

/** One tool version. */
export const ToolFile = Type.Object({
  ...ToolBody.properties,
  schemaVersion: Type.Integer(),
  id: Type.String(),
  bundleID: Type.String(),
  slug: Type.String(),
  version: Type.String(),
  name: Type.String(),
  createdAt: Type.String(),
  modifiedAt: Type.String(),
});
export type ToolFile = Static<typeof ToolFile>;

export const bundleFileName = 'bundle.json';

/**
 * A file name that depends neither on the file system's case nor on the slug's length:
 * a readable ASCII start, then a hash of slug and version.
 */
export function toolFileName(slug: string, version: string): string {
  return `${readableName(slug, version)}.${hash('sha256', `${slug}\0${version}`).slice(0, 32)}.json`;
}

/** Never that of a hidden file, whatever the slug is made of. */
export function readableName(slug: string, version: string): string {
  const readable = `${slug}.${version}`
    .toLowerCase()
    .replace(/[^a-z0-9.-]/g, '')
    .slice(0, 40);
  return `tool-${readable}`;
}

export const toolPath = (bundleID: string, slug: string, version: string): string =>
  join(bundleID, toolFileName(slug, version));
export const bundlePath = (bundleID: string): string => join(bundleID, bundleFileName);

/** What a path below the catalog folder is; undefined for what is not ours (temp files, notes of people). */
export function kindOf(path: string): { kind: 'bundle' | 'tool'; bundleID: string } | undefined {
  const [bundleID = '', file = '', ...rest] = path.split('/');
  if (rest.length > 0 || parseUuid7(bundleID) !== bundleID || !file.endsWith('.json') || file.startsWith('.'))
    return undefined;
  return { kind: file === bundleFileName ? 'bundle' : 'tool', bundleID };
}

/** Reads a bundle.json; throws with the reason when it is damaged or lies in another bundle's folder. */
export function parseBundle(text: string, bundleID: string): BundleFile {
  const file = check(BundleFile, JSON.parse(text));
  if (file.id !== bundleID) throw new Error(`it says it is bundle ${file.id}`);
  return file;
}

/** Reads a tool file; throws with the reason when it is damaged or not the tool that its name promises. */
export function parseTool(text: string, path: string, bundleID: string): ToolFile {
  const file = check(ToolFile, JSON.parse(text));
  if (file.bundleID !== bundleID) throw new Error(`it says it belongs to bundle ${file.bundleID}`);
  if (toolPath(bundleID, file.slug, file.version) !== path)
    throw new Error(`it says it is ${file.slug} version ${file.version}, which lies in another file`);
  return file;
}

export const toText = (value: object): string => `${JSON.stringify(value, null, 2)}\n`;

/** The same object for the same file. */
export function toBundle(file: BundleFile): Bundle {
  let bundle = bundles.get(file);
  if (!bundle) bundles.set(file, (bundle = { ...file, isBuiltIn: false, isManaged: false, kind: 'stored' }));
  return bundle;
}
const bundles = new WeakMap<BundleFile, Bundle>();
