import type { TestServer } from './running-server.ts';
import { until } from './until.ts';

/** Waits until every MCP server that is configured is there, with more than `tools` tools. */
export async function connected(server: Pick<TestServer, 'fetch'>, tools = 0): Promise<void> {
  await until(async () => {
    const answer = await server.fetch('/call/server_list', { method: 'POST', json: { args: {} } });
    const { value } = (await answer.json()) as { value: { servers: { status: string; tools: number }[] } };
    return value.servers.every((each) => each.status === 'connected' && each.tools > tools);
  }, 20_000);
}
