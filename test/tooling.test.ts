import assert from 'node:assert/strict';
import { test } from 'node:test';
// The check is a plain script without types of its own.
const { refusal } = (await import(new URL('../scripts/rooms.js', import.meta.url).href)) as {
  refusal(file: string, specifier: string): string | undefined;
};

test('a room may import what its row names, through the front door only', () => {
  assert.equal(refusal('gate/gate.ts', '../auth/index.ts'), undefined);
  assert.match(refusal('gate/gate.ts', '../auth/tokens.ts') ?? '', /through its index\.ts/);
  assert.match(refusal('gate/gate.ts', '../sessions/index.ts') ?? '', /gate may import/);
  assert.match(refusal('code/child.ts', '../schema/index.ts') ?? '', /nothing of ours/);
  assert.match(refusal('helpers/x.ts', '../schema/index.ts') ?? '', /no room/);
});

test('no door imports another', () => {
  assert.match(refusal('doors/rest/app.ts', '../mcp/index.ts') ?? '', /no door imports another/);
  assert.equal(refusal('doors/rest/app.ts', '../http-errors.ts'), undefined);
});

test('an SDK stays where it belongs', () => {
  assert.match(refusal('gate/gate.ts', 'fastify') ?? '', /only in doors/);
  assert.equal(refusal('doors/rest/app.ts', '@fastify/cors'), undefined);
  assert.match(refusal('sessions/spawn.ts', '@agentclientprotocol/sdk') ?? '', /only in agents/);
});
