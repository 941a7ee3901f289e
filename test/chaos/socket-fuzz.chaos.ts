import fc from '../kit/fast-check.ts';
import { catalogue } from '../../src/schema/index.ts';
import { rawRelay, type RawRelay } from '../kit/relay-socket.ts';
import { testServer } from '../kit/server.ts';
import { turn, value } from '../kit/session.ts';
import type { Tally } from './run.ts';

export const about =
  "hostile lines on a session's socket: every request that has an id is answered once and by name, and the session lives on";
export const full = 5000;

const linesAtOnce = 100;
const codes = new Set(Object.keys(catalogue));

export async function chaos(rounds: number): Promise<Tally> {
  const tally: Tally = { counted: { lines: 0, answered: 0, refused: 0 }, violations: [] };
  const server = await testServer();
  try {
    const project = await value(server, 'project_create', { name: 'hostile' });
    const { sessionId } = await turn(server, { project_id: project.id, message: '1' });
    const { relay_socket } = await value(server, 'session_get', { session_id: sessionId });
    const key = (await value(server, 'token_create', { name: 'k', scope: 'read' })).token as string;
    const relay = await rawRelay(relay_socket);
    const hostile = fc.sample(lineWith(key), rounds);
    for (let at = 0; at < hostile.length; at += linesAtOnce)
      await judge(relay, hostile.slice(at, at + linesAtOnce), at, tally);
    const alive = await relay.ask('run', { code: '20 + 1' });
    if (alive.result?.content[0].text !== '21')
      tally.violations.push(`afterwards run answered ${JSON.stringify(alive)}`);
    relay.close();
    await value(server, 'session_end', { session_id: sessionId });
  } finally {
    await server.remove();
  }
  return tally;
}

/** Sends lines, those that are objects each under an id of its own, and looks at what comes back. */
async function judge(relay: RawRelay, batch: readonly (string | object)[], from: number, tally: Tally): Promise<void> {
  const asked = new Map<string, string>();
  relay.messages.length = 0;
  batch.forEach((line, index) => {
    tally.counted['lines']!++;
    const id = `f${from + index}`;
    const text = typeof line === 'string' ? line : JSON.stringify({ ...line, id });
    if (typeof line !== 'string' && (line as { method?: unknown }).method !== 'cancel') asked.set(id, text);
    relay.send(`${text}\n`);
  });
  const answersTo = (id: string): any[] => relay.messages.filter((message) => message.id === id);
  await relay
    .next(() => [...asked.keys()].every((id) => answersTo(id).length > 0))
    .catch((error: Error) => {
      tally.violations.push(error.message.slice(0, 300));
    });
  for (const [id, text] of asked) {
    const [answer, ...more] = answersTo(id);
    if (more.length > 0) tally.violations.push(`answered ${more.length + 1} times: ${text.slice(0, 200)}`);
    if (!answer) tally.violations.push(`never answered: ${text.slice(0, 200)}`);
    else tally.counted[answer.error ? 'refused' : 'answered']!++;
    const code = answer?.error?.data?.code;
    if (answer?.error && (!codes.has(code) || code === 'server.internal'))
      tally.violations.push(`${text.slice(0, 200)} was answered with ${JSON.stringify(answer.error)}`);
  }
}

/** Lines that are no requests, and requests whose every part may be anything. Nothing starts another session. */
function lineWith(key: string): fc.Arbitrary<string | object> {
  const anything = fc.jsonValue({ maxDepth: 3 });
  const param = fc.oneof(
    anything,
    fc.constantFrom(key, '', '../..', '__proto__', 'token_list', 'demo_foo', '\u0000', '\ud800', -1, 1e308),
  );
  const params = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record(
        {
          api_key: fc.oneof(fc.constant(key), param),
          tool: param,
          arguments: param,
          session_id: param,
          code: param,
          since_index: param,
        },
        { requiredKeys: [] },
      ),
    },
    anything,
  );
  const method = fc.oneof(
    {
      weight: 8,
      arbitrary: fc.constantFrom(
        'oubliette_tools',
        'oubliette_call_tool',
        'caller_tool',
        'session_message',
        'session_events',
        'run',
        'cancel',
      ),
    },
    anything,
  );
  const garbage = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 40 }).map((text) => text.replaceAll(/[\r\n]/g, '')),
    fc.constantFrom('{"id":1', '[]', 'null', '[{"id":1,"method":"run"}]', '{"jsonrpc":"2.0"}'),
  );
  return fc.oneof(
    { weight: 6, arbitrary: fc.record({ jsonrpc: fc.constant('2.0'), method, params, again: fc.boolean() }) },
    garbage,
  );
}
