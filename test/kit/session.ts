import type { TestServer } from './server.ts';
import { until } from './until.ts';

/** The value of a call that must succeed. */
export async function value(
  server: TestServer,
  name: string,
  args: Record<string, unknown> = {},
  token?: string,
): Promise<any> {
  const answer = await server.call(name, args, token);
  if (!answer.ok) throw new Error(`${name}: ${JSON.stringify(answer)}`);
  return answer.value;
}

export const events = async (server: TestServer, sessionId: string): Promise<any[]> =>
  (await value(server, 'session_events', { session_id: sessionId, max_events: 1000 })).events;

/** Sends a message and answers what its turn completed with. */
export async function turn(
  server: TestServer,
  args: Record<string, unknown>,
  token?: string,
): Promise<{ sessionId: string; text: string }> {
  const sent = await value(server, 'session_message', args, token);
  return { sessionId: sent.session_id, text: await completed(server, sent.session_id, sent.turn) };
}

/** The text of a turn's completion, once it is there; fails with the events when the session fails first. */
export async function completed(server: TestServer, sessionId: string, number: number): Promise<string> {
  let found: any;
  await until(async () => {
    const all = await events(server, sessionId);
    found = all.find((event) => event.type === 'completion' && event.turn === number);
    const failed = all.find((event) => event.type === 'status' && event.status === 'failed');
    if (failed) throw new Error(JSON.stringify(all));
    return found !== undefined;
  }, 120_000);
  return found.text;
}
