import { open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Settings } from '../../schema/index.ts';
import { makeFolder } from '../../store/index.ts';
import { yamlFlow } from './yaml-flow.ts';

export interface NotifyDeps {
  settings: () => Settings;
  /** Where relative files of topics lie. */
  notesFolder: string;
}

/** `ot.notify`: appends a message to the file of the first topic that matches; answers when it is on disk. */
export async function notify({ settings, notesFolder }: NotifyDeps, topic: string, message: string): Promise<string> {
  const route = settings().notify.topics.find(({ pattern }) => matches(pattern, topic));
  if (!route) return 'SKIP: no matching topic';
  const path = resolve(notesFolder, route.file);
  try {
    await makeFolder(dirname(path));
    const file = await open(path, 'a', 0o600);
    try {
      // One write, so that messages of several processes never mix.
      await file.appendFile(`---\n${yamlFlow({ ts: new Date().toISOString(), topic, message })}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    return `Error: Cannot write to '${path}': ${(error as Error).message}`;
  }
  return `OK: ${topic} -> ${path}`;
}

/** `*` stands for anything, also nothing; everything else for itself. */
function matches(pattern: string, topic: string): boolean {
  const parts = pattern.split('*');
  if (parts.length === 1) return pattern === topic;
  const [first, last] = [parts[0]!, parts.at(-1)!];
  if (!topic.startsWith(first) || !topic.endsWith(last) || topic.length < first.length + last.length) return false;
  let at = first.length;
  const end = topic.length - last.length;
  for (const part of parts.slice(1, -1)) {
    const found = topic.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}
