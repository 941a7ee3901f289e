import { shapeOf } from '../../code/index.ts';
import { roundLongIntegers, type Actor, type Settings } from '../../schema/index.ts';
import type { ResultStore } from '../../store/index.ts';
import { resultOwner } from './result-owner.ts';

/** What is answered instead of an output that is too large. */
export interface KeptAnswer extends Record<string, unknown> {
  handle: string;
  total_lines: number;
  size_bytes: number;
  shape: string;
  preview: string;
  query: string;
}

export interface KeepDeps {
  results: ResultStore;
  settings: () => Settings;
}

const previewBytes = 2000;

/** Stores a text and answers its handle with a bounded preview. */
export async function keepText(
  { results, settings }: KeepDeps,
  actor: Actor,
  text: string | Buffer,
  shape: string,
): Promise<KeptAnswer> {
  const { resultTtlSeconds, previewLines } = settings().output;
  const kept = await results.put(resultOwner(actor), text, resultTtlSeconds);
  return {
    handle: kept.handle,
    total_lines: kept.totalLines,
    size_bytes: kept.sizeBytes,
    shape,
    preview: previewOf(
      typeof text === 'string' ? text : text.toString('utf8', 0, previewBytes * 2),
      Math.min(10, previewLines),
    ),
    query: `ot.result(handle='${kept.handle}', offset=1, limit=50)`,
  };
}

/** For any tool's answer: strings as they are, other values as indented JSON. */
export function keepValue(deps: KeepDeps, actor: Actor, value: unknown): Promise<KeptAnswer> {
  const text = typeof value === 'string' ? value : JSON.stringify(value, undefined, 2);
  return keepText(deps, actor, text, shapeOf(roundLongIntegers(value)));
}

function previewOf(text: string, lines: number): string {
  let end = 0;
  for (let i = 0; i < lines && end >= 0; i++) end = text.indexOf('\n', end) < 0 ? -1 : text.indexOf('\n', end) + 1;
  const head = (end < 0 ? text : text.slice(0, end)).slice(0, previewBytes).replace(/\n$/, '');
  const bytes = Buffer.from(head);
  if (bytes.length <= previewBytes) return head.toWellFormed();
  // A character that the cut would split is left out.
  return bytes
    .subarray(0, previewBytes)
    .toString('utf8')
    .replace(/\uFFFD+$/, '');
}
