import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chaos } from './socket-fuzz.chaos.ts';

test("hostile lines on a session's socket are answered once and by name, and the session lives on", async () => {
  const { counted, violations } = await chaos(400);
  assert.deepEqual(violations, []);
  assert.ok(counted['refused']! > 100, `only ${counted['refused']} requests were refused`);
  assert.ok(counted['answered']! > 5, `only ${counted['answered']} requests were answered`);
});
