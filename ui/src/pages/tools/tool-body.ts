import type { ToolBody, ToolView } from '../../api/shapes.ts';

const fields = [
  'displayName',
  'description',
  'tags',
  'isEnabled',
  'type',
  'argSchema',
  'outputSchema',
  'functionImpl',
  'goImpl',
  'httpImpl',
  'scriptImpl',
  'access',
  'limits',
] as const;

/** What a person may PUT of a tool: the part that makes the same tool again. */
export function bodyOf(tool: ToolView): ToolBody {
  const body: Record<string, unknown> = {};
  for (const field of fields) if (tool[field] !== undefined) body[field] = tool[field];
  return body as ToolBody;
}

/** The label that follows: v1 -> v2, 1.0.3 -> 1.0.4, beta -> beta-2. */
export function nextVersion(version: string): string {
  const match = /^(.*?)(\d+)$/.exec(version);
  return match ? `${match[1]}${Number(match[2]) + 1}` : `${version}-2`;
}

/** A UUIDv7, which is what a bundle is addressed by: time first, so ids sort by age. */
export function newBundleId(now = Date.now()): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  for (let index = 0; index < 6; index++) bytes[index] = Math.floor(now / 2 ** (8 * (5 - index))) & 0xff;
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** A name as a slug may be written: letters, digits and dashes of any script. */
export const slugOf = (name: string): string =>
  [
    ...name
      .normalize('NFC')
      .toLowerCase()
      .replace(/[^\p{L}\p{Nd}]+/gu, '-')
      .replace(/^-+|-+$/g, ''),
  ]
    .slice(0, 64)
    .join('');
