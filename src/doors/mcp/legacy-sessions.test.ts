import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Actor } from '../../schema/index.ts';
import type { Handlers } from './handlers.ts';
import { LegacySessions } from './legacy-sessions.ts';
import type { Menu } from './menu.ts';

const menu: Menu = { kind: 'run' };
const actor: Actor = { kind: 'token', door: 'mcp', principal: 'me', level: 'read' };

test('where there are too many sessions, a new one takes the place of the one that was idle longest', async () => {
  const menus = { upstream: () => undefined, tools: async () => new Map() };
  const sessions = new LegacySessions({ version: '0', menus, handlers: {} as Handlers, mostSessions: 3 });
  const open = () => sessions.open(actor, menu, true);
  const [first, second, third] = [await open(), await open(), await open()];
  first.take([], undefined);
  const fourth = await open();
  const isKept = (each: { sessionId?: string }): boolean => sessions.find(each.sessionId!, actor, menu) !== undefined;
  assert.deepEqual([first, second, third, fourth].map(isKept), [true, false, true, true]);
  await sessions.close();
});
