import { test } from 'node:test';
import assert from 'node:assert/strict';
import { chaos } from './mcp-fuzz.chaos.ts';

test('fuzzed MCP requests are all answered, and others are served meanwhile', { timeout: 280_000 }, async () => {
  const { violations, counted } = await chaos(300);
  assert.deepEqual(violations.slice(0, 5), []);
  assert.equal(counted['answered'], counted['requests']);
});
