import type { Given } from './made-call.ts';

export type ParallelItem = ({ name: string } & Given) | { problem: string };

const usage = 'parallel() takes one list of calls: parallel([("pack.function", {"key": "value"}), ...])';

/** Reads the argument of `parallel`: tuples of a name and its arguments, or names alone. */
export function parallelItems({ args, keywords }: Given): { calls: ParallelItem[] } | { problem: string } {
  if (args.length !== 1 || keywords.length > 0 || !Array.isArray(args[0])) return { problem: usage };
  return { calls: args[0].map(readItem) };
}

function readItem(item: unknown): ParallelItem {
  const [name, given, ...rest] = Array.isArray(item) ? (item as unknown[]) : [item];
  // What is no text, such as a lambda, comes as its description.
  if (typeof name !== 'string' || name === '' || name.startsWith('<') || rest.length > 0)
    return { problem: `${usage}; got ${JSON.stringify(item)?.slice(0, 200)}` };
  if (given === undefined || given === null) return { name, args: [], keywords: [] };
  if (Array.isArray(given)) return { name, args: given, keywords: [] };
  if (typeof given !== 'object')
    return { problem: `the arguments of ${name} must be a dict, got ${JSON.stringify(given)}` };
  return { name, args: [], keywords: Object.entries(given) };
}
