import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { comesToBe, setting, type Setting } from './browser-kit.ts';

let world: Setting;
let page: Page;
before(async () => {
  world = await setting();
  for (const text of ['a', 'b', 'c']) await world.server.call('demo_foo', { text });
  await world.server.call('demo_foo', {});
  page = await world.open('/');
});
after(() => world.close());

const go = (path: string) => page.goto(`${world.server.url}/app${path}`);

describe('the console', () => {
  test('completes packs, functions and keywords from the catalog, runs, and shows the calls', async () => {
    await go('/console');
    const editor = page.locator('.cm-content');
    await editor.fill('');
    await editor.pressSequentially('dem');
    await page.locator('.cm-tooltip-autocomplete li', { hasText: 'demo' }).first().click();
    await editor.pressSequentially('.f');
    await page.locator('.cm-tooltip-autocomplete li', { hasText: 'foo' }).first().click();
    await page.locator('.cm-line', { hasText: 'demo.foo(' }).waitFor();
    await editor.pressSequentially('te');
    await page.locator('.cm-tooltip-autocomplete', { hasText: 'text' }).waitFor();
    await page.keyboard.press('Escape');
    await editor.fill('[demo.foo(text=word) for word in ["x", "y"]]');
    await page.keyboard.press('Control+Enter');
    await page.locator('.meter .badge.good', { hasText: 'ok' }).waitFor();
    await page.getByRole('heading', { name: 'Calls the program made: 2' }).waitFor();
  });

  test('shows an error with its line and keeps the program', async () => {
    await page.locator('.cm-content').fill('x = 1\nnowhere.at_all()');
    await page.getByRole('button', { name: /^Run/ }).click();
    await page.locator('.badge.bad', { hasText: 'program.failed' }).waitFor();
    assert.match(await page.locator('pre.tone-bad').innerText(), /line 2/i);
    await page.reload();
    await page.locator('.cm-line', { hasText: 'nowhere.at_all()' }).waitFor();
  });

  test('pages and searches a result that was too large to send', async () => {
    await page.locator('.cm-content').fill('"\\n".join(["line " + str(i) + " " + "x" * 100 for i in range(50000)])');
    await page.getByRole('button', { name: /^Run/ }).click();
    await page.getByRole('heading', { name: 'Stored result' }).waitFor();
    await page.getByText('Lines 1 to 50 of 50000').waitFor();
    await page.getByRole('button', { name: 'Next' }).click();
    await page.locator('pre', { hasText: 'line 50 x' }).waitFor();
    await page.getByRole('searchbox', { name: 'Search in the result' }).fill('line 4999 ');
    await page.getByText('Lines 1 to 1 of 1', { exact: true }).waitFor();
  });

  test('makes a tool of a program', async () => {
    await world.server.ask('PUT', '/tools/bundles/0198c0de-0000-7000-8000-000000000001', {
      slug: 'mine',
      displayName: 'Mine',
      isEnabled: true,
    });
    await go('/console');
    await page.locator('.cm-content').fill('demo.foo(text="promoted")');
    await page.getByRole('button', { name: 'Make it a tool' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('Promoted');
    await page.getByRole('button', { name: 'Go on' }).click();
    await page.getByRole('button', { name: 'Save tool' }).click();
    await page.locator('h1', { hasText: 'Promoted' }).waitFor();
    assert.equal((await world.server.call('mine_promoted')).ok, true);
  });
});

describe('stats', () => {
  test('count what was called, by tool and token, and go out as CSV', async () => {
    await go('/stats');
    await page.locator('td', { hasText: 'demo' }).first().waitFor();
    await page.locator('canvas').first().waitFor();
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'CSV' }).last().click(),
    ]);
    assert.match(await readFile(await file.path(), 'utf8'), /^name,total_calls/);
    await page.getByRole('button', { name: 'By token' }).click();
    await page.locator('td', { hasText: 'tok_' }).first().waitFor();
    assert.match(page.url(), /by=token/, 'the view is a link');
  });
});

describe('tokens', () => {
  test('are shown once, narrowed, used and revoked', async () => {
    await go('/tokens');
    await page.getByRole('button', { name: 'New token' }).click();
    await page.getByLabel('Name').fill('for the CI');
    await page.getByText('Only these bundles').click();
    await page.getByRole('checkbox', { name: 'Demo' }).check();
    await page.getByRole('button', { name: 'Create token' }).click();
    const secret = await page.getByTestId('token-secret').innerText();
    assert.match(secret, /^oub_/);
    await page.getByRole('button', { name: 'I have copied it' }).click();
    assert.doesNotMatch(await page.content(), new RegExp(secret));
    assert.equal(
      (await world.server.ask('GET', '/tools/tools', undefined, secret)).body.tools.every(
        (tool: { bundleSlug: string }) => tool.bundleSlug === 'demo',
      ),
      true,
    );
    await page.getByRole('button', { name: 'Revoke for the CI?' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.equal((await world.server.ask('GET', '/tools/tools', undefined, secret)).status, 401);
  });
});

describe('secrets', () => {
  test('are set, bound to hosts and removed, and never come back', async () => {
    await go('/secrets');
    await page.getByRole('button', { name: 'New secret' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('API_KEY');
    await page.getByRole('dialog').getByLabel('Value').fill('short');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').locator('.problem, .note.bad').first().waitFor();
    await page.getByRole('dialog').getByLabel('Value').fill('long-enough-value');
    await page.getByRole('dialog').getByLabel('Only to these hosts').fill('api.example.com');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('only to api.example.com').waitFor();
    assert.doesNotMatch(await page.content(), /long-enough-value/);
    await page.getByRole('button', { name: 'Actions for API_KEY' }).click();
    await page.getByRole('menuitem', { name: 'Replace' }).click();
    await page.getByRole('dialog').getByLabel('Value').fill('another-long-value');
    await page.getByRole('dialog').getByLabel('Only to these hosts').fill('');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('to any allowed host').waitFor();
    await page.getByRole('button', { name: 'Actions for API_KEY' }).click();
    await page.getByRole('menuitem', { name: 'Remove' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByText('No secrets yet').waitFor();
  });
});

describe('settings', () => {
  test('are changed in a form, checked, and written to the file', async () => {
    await go('/settings');
    await page.getByLabel('depth').fill('deep');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('.problem').first().waitFor();
    await page.getByLabel('depth').fill('2');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('.toast.good').waitFor();
    assert.match(await readFile(join(world.server.home, 'config.yaml'), 'utf8'), /depth: 2/);
  });

  test('show what was changed elsewhere, and save only what was changed here', async () => {
    const limits = page.locator('.card', { has: page.getByLabel('depth') });
    const change = async (key: string, value: number): Promise<void> => {
      await world.server.call('settings_set', { path: ['limits', key], value });
      await page.getByRole('button', { name: 'Read the file again' }).click();
    };
    await change('depth', 1);
    await comesToBe(() => page.getByLabel('depth').inputValue(), '1');
    assert.equal(await limits.getByRole('button', { name: 'Save' }).count(), 0);
    await page.getByLabel('agents', { exact: true }).fill('7');
    await change('depth', 2);
    await limits.getByRole('button', { name: 'Save' }).click();
    await comesToBe(() => page.getByLabel('depth').inputValue(), '2');
    const { limits: now } = (await world.server.call('settings_get')).value.settings;
    assert.deepEqual([now.depth, now.agents], [2, 7]);
  });

  test('written as JSON cannot be saved while they are broken, and are as before when that is wished', async () => {
    const snippets = page.locator('.card', { has: page.getByRole('heading', { name: 'Snippets' }) });
    const editor = snippets.locator('.cm-content');
    await editor.click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type(' oops');
    await snippets.locator('.problem').waitFor();
    assert.ok(await snippets.getByRole('button', { name: 'Save' }).isDisabled());
    await snippets.getByRole('button', { name: 'Undo changes' }).click();
    await comesToBe(() => editor.innerText(), '{}');
    assert.equal(await snippets.getByRole('button', { name: 'Save' }).count(), 0);
  });

  test('leave what runs commands to the machine', async () => {
    await page.locator('.card', { hasText: 'MCP servers' }).getByText('on the machine only').waitFor();
    assert.equal(await page.getByLabel('allowRemoteConfig').count(), 0);
  });
});

describe('health, sessions and servers', () => {
  test('show what the doctor finds', async () => {
    await go('/health');
    await page.locator('.item').first().waitFor();
    assert.ok((await page.locator('.item').count()) > 5);
  });

  test('show a session with its timeline, filtered, downloaded and ended', async () => {
    const project = await world.server.call('project_create', { name: 'Timeline' });
    const { session_id } = (
      await world.server.call('session_spawn', { project_id: project.value.id, message: '"done here"' })
    ).value;
    await go('/sessions');
    const row = page.getByRole('row', { name: session_id });
    await row.getByRole('link', { name: '"done here"' }).click();
    await page.locator('.timeline li', { hasText: 'completion' }).waitFor();
    await page.getByLabel('Type of event').selectOption('message');
    await comesToBe(() => page.locator('.timeline li').count(), 2);
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download log' }).click(),
    ]);
    const lines = (await readFile(await file.path(), 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { index: number });
    assert.deepEqual(
      lines.map(({ index }) => index),
      lines.map((_, index) => index),
    );
    await page.getByRole('button', { name: 'End session' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'End session' }).click();
    await page.locator('h1 + .badge', { hasText: 'ended' }).waitFor();
  });

  test('say how to add a server where there is none', async () => {
    await go('/servers');
    await page.getByText('No MCP servers yet').waitFor();
  });
});

test('nothing went wrong in any tab', () => assert.deepEqual(world.troubles, []));
