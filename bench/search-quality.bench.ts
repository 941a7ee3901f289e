import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { SearchMemory } from '../src/catalog/search-memory.ts';
import type { Row } from './measure.ts';

export const about =
  'how well agents find the right tool: MetaTool queries over 199 tools, untrained, against plain BM25';

const data = join(import.meta.dirname, 'data', 'metatool');
const at = 5;

export async function bench(): Promise<Row[]> {
  const tools = JSON.parse(readFileSync(join(data, 'tools.json'), 'utf8')) as { name: string; description: string }[];
  const baseline = JSON.parse(readFileSync(join(data, 'baseline.json'), 'utf8')) as { ndcg5: number; recall5: number };
  const queries = gunzipSync(readFileSync(join(data, 'queries.jsonl.gz')))
    .toString('utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { query: string; tool: string });
  const index = indexOf(tools);
  let gain = 0;
  let found = 0;
  for (const { query, tool } of queries) {
    const place = index.rank(query, { limit: at }).findIndex((hit) => hit.id === tool);
    if (place < 0) continue;
    found++;
    gain += 1 / Math.log2(place + 2);
  }
  const other = (value: number): Pick<Row, 'other' | 'otherName'> => ({
    other: [value],
    otherName: 'plain BM25, frozen',
  });
  return [
    {
      what: `nDCG@${at}`,
      unit: '',
      ours: [gain / queries.length],
      ...other(baseline.ndcg5),
      goal: { of: 'ratio', atLeast: 1.1 },
    },
    {
      what: `recall@${at}`,
      unit: '',
      ours: [found / queries.length],
      ...other(baseline.recall5),
      goal: { of: 'ratio', atLeast: 1 },
    },
  ];
}

function indexOf(tools: readonly { name: string; description: string }[]): SearchMemory {
  const index = new SearchMemory();
  for (const { name, description } of tools)
    index.put({
      id: name,
      slug: name,
      displayName: name,
      tags: [],
      description,
      bundleSlug: 'tools',
      modifiedAt: '2026-01-01T00:00:00.000Z',
      isEnabled: true,
      stamp: name,
    });
  index.settle();
  return index;
}
