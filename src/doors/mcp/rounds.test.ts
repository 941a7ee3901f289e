import { test } from 'node:test';
import assert from 'node:assert/strict';
import type { Exchange, JsonObject } from './exchange.ts';
import { Rounds, type Work } from './rounds.ts';

function exchange(
  retry?: Exchange['retry'],
  clientCapabilities: Exchange['clientCapabilities'] = { elicitation: {} },
): Exchange {
  return {
    actor: { kind: 'token', door: 'mcp', principal: 'me', level: 'read' },
    menu: { kind: 'run' },
    era: 'modern',
    signal: new AbortController().signal,
    clientCapabilities,
    notify() {},
    ...(retry && { retry }),
  };
}

/** The questions of an answer, by what they ask, and what to come back with. */
function questions({ inputRequests, requestState }: JsonObject) {
  const asked = Object.entries(inputRequests as Record<string, { params: { message: string } }>);
  return {
    messages: asked.map(([, { params }]) => params.message),
    answered: (answer: unknown): Exchange =>
      exchange({ requestState, inputResponses: Object.fromEntries(asked.map(([key]) => [key, answer])) }),
  };
}

const nobody: Work = () => assert.fail('work is begun once');

test('a question that comes up while the client is away with another one is asked when it is back', async () => {
  const rounds = new Rounds();
  let askAlso = (): void => {};
  const work: Work = async (_live, signal, ask) => {
    const wish = (message: string): Promise<unknown> => ask('elicitation/create', { message }, signal);
    const first = wish('first?');
    const second = new Promise<unknown>((resolve) => (askAlso = () => resolve(wish('second?'))));
    return { answers: await Promise.all([first, second]) };
  };
  const one = questions(await rounds.serve(exchange(), work));
  assert.deepEqual(one.messages, ['first?']);
  askAlso();
  const two = questions(await rounds.serve(one.answered('yes'), nobody));
  assert.deepEqual(two.messages, ['second?']);
  assert.deepEqual(await rounds.serve(two.answered('no'), nobody), { answers: ['yes', 'no'] });
});

test('a client that cannot be asked is not asked', async () => {
  const work: Work = async (_live, signal, ask) => (await ask('elicitation/create', {}, signal)) as JsonObject;
  await assert.rejects(new Rounds().serve(exchange(undefined, { sampling: {} }), work), {
    code: -32601,
    message: 'the client cannot be asked for elicitation/create',
  });
});
