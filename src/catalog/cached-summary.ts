import type { ToolFile } from './stored-files.ts';
import { summarise, type FileStamp } from './stored-records.ts';
import type { ToolSummary } from './tool-summary.ts';

/** A summary as one short array of text: 125,000 of them are read at every start. */
export function packSummary(tool: ToolFile): string {
  const { id, slug, version, bundleID, name, type, isEnabled, createdAt, modifiedAt, tags } = tool;
  return JSON.stringify([id, slug, version, bundleID, name, type, isEnabled, createdAt, modifiedAt, tags ?? []]);
}

type Packed = [string, string, string, string, string, ToolFile['type'], boolean, string, string, string[]];

export function unpackSummary(packed: string, path: string, stamp: FileStamp): ToolSummary {
  const [id, slug, version, bundleID, name, type, isEnabled, createdAt, modifiedAt, tags] = JSON.parse(
    packed,
  ) as Packed;
  const parts = { id, slug, version, bundleID, name, type, isEnabled, createdAt, modifiedAt, tags };
  return summarise(parts as ToolFile, path, stamp);
}
