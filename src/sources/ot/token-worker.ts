// Counts tokens in a thread of its own that ends afterwards: the tables it needs are large and needed rarely.
import { parentPort, workerData } from 'node:worker_threads';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';

const mostCharacters = 20_000;
/** Counting takes a time that grows with the square of a word: one of a million letters would take days. */
const endlessWord = /\S{200}(?=\S)|\s{200}(?=\s)/g;

/** Of a long text the beginning is counted and scaled up. */
function tokensOf(text: string): number {
  const counted = text.slice(0, mostCharacters);
  let sum = 0;
  let from = 0;
  for (const { index, 0: word } of counted.matchAll(endlessWord)) {
    sum += countTokens(counted.slice(from, index + word.length));
    from = index + word.length;
  }
  sum += countTokens(counted.slice(from));
  return counted.length < text.length ? Math.round((sum * text.length) / counted.length) : sum;
}

let sum = 0;
for (const text of workerData as string[]) sum += tokensOf(text);
parentPort?.postMessage(sum);
