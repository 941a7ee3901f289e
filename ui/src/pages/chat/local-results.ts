import { useCallback, useState } from 'react';
import { recall, remember } from '../../parts/memory.ts';

/** A palette result shown in a chat, and after which event it belongs. */
export interface LocalResult {
  id: string;
  after: number;
  tool: string;
  args: Record<string, unknown>;
  value: unknown;
}

const keptResults = 20;
const keptChars = 20_000;

/** Results of one chat; whoever shows another chat mounts anew. */
export function useLocalResults(sessionId: string): [LocalResult[], (result: Omit<LocalResult, 'id'>) => void] {
  const name = `chat-results.${sessionId}`;
  const [results, setResults] = useState<LocalResult[]>(() => recall(name) ?? []);
  const add = useCallback(
    (result: Omit<LocalResult, 'id'>) =>
      setResults((before) => {
        const after = [...before, { ...result, id: crypto.randomUUID() }].slice(-keptResults);
        remember(
          name,
          after.map((each) => ({ ...each, value: short(each.value) })),
        );
        return after;
      }),
    [name],
  );
  return [results, add];
}

function short(value: unknown): unknown {
  const text = JSON.stringify(value) ?? '';
  return text.length > keptChars ? `${text.slice(0, keptChars)} …` : value;
}
