import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { bundleId, comesToBe, setting, type Setting } from './browser-kit.ts';
import { path } from './furnish.ts';

const long = '9007199254740993';
const said = new RegExp(`${long} is an integer too long`);

let world: Setting;
let page: Page;
const sent: string[] = [];
before(async () => {
  world = await setting();
  await world.server.ask('PUT', `/tools/bundles/${bundleId(1)}`, { slug: 'ids', displayName: 'Ids', isEnabled: true });
  const properties = { id: { type: 'integer' }, anything: {} };
  for (const [slug, code] of [
    ['look', '"taken"'],
    ['make', `{"id": ${long}, "list": [-(2**64)]}`],
  ] as const) {
    const stored = await world.server.ask('PUT', path(bundleId(1), slug, 'v1'), {
      displayName: slug,
      isEnabled: true,
      type: 'script',
      argSchema: { type: 'object', properties },
      scriptImpl: { code },
    });
    assert.equal(stored.status, 201, JSON.stringify(stored.body));
  }
  page = await world.open('/');
  page.on('request', (request) => {
    if (request.method() !== 'GET' && /\/tools\/bundles\//.test(request.url())) sent.push(request.postData() ?? '');
  });
});
after(() => world.close());

/** A session whose agent waits for a tool that this page does not lend. */
async function asksElsewhere(): Promise<string> {
  const project = await world.server.call('project_create', { name: 'Elsewhere' });
  const caller_tools = [{ name: 'find', description: 'Find it', inputSchema: { type: 'object' } }];
  const { value } = await world.server.call('session_spawn', {
    project_id: project.value.id,
    message: 'found = other_find()\n"got " + str(found)',
    context: { caller_id: 'other', on_disconnect: 'wait', timeout_ms: 600_000, caller_tools },
  });
  return value.session_id;
}

const at = `/tools/${bundleId(1)}`;
const go = (place: string) => page.goto(`${world.server.url}/app${place}`);
const run = () => page.getByRole('button', { name: 'Run', exact: true }).click();
const write = async (label: string, text: string): Promise<void> => {
  await page.getByRole('textbox', { name: label, exact: true }).click();
  await page.keyboard.press('Control+a');
  await page.keyboard.insertText(text);
};

describe('an integer that the browser would round', () => {
  test('stays in its field of the tester, is named there, and nothing is sent or copied', async () => {
    await go(`${at}/look/v1`);
    const id = page.getByRole('textbox', { name: 'id' });
    await id.fill(long);
    await page.getByRole('alert').filter({ hasText: said }).waitFor();
    await run();
    await comesToBe(() => page.evaluate('document.activeElement.value'), long);
    await page.getByRole('button', { name: 'Save as example' }).click();
    await page.reload();
    await comesToBe(() => id.inputValue(), long);
    await id.fill('7');
    const anything = page.getByRole('textbox', { name: 'anything' });
    await anything.fill(`{"deep": [${long}]}`);
    await page.getByRole('alert').filter({ hasText: said }).waitFor();
    await run();
    await comesToBe(() => page.evaluate('document.activeElement.value'), `{"deep": [${long}]}`);
    assert.equal(await page.getByRole('heading', { name: 'Examples' }).count(), 0);
    assert.deepEqual(sent, []);
    await anything.fill(`"${long}"`);
    await run();
    await page.locator('.meter .badge.good').waitFor();
    assert.deepEqual(sent.splice(0), [`{"args":{"id":7,"anything":"${long}"}}`]);
  });

  test('is shown in an answer as it came', async () => {
    await go(`${at}/make/v1`);
    await run();
    const shown = `{\n  "id": ${long},\n  "list": [\n    -18446744073709551616\n  ]\n}`;
    await comesToBe(() => page.locator('pre.out').innerText(), shown);
    sent.splice(0);
  });

  test('is named under arguments written as JSON, which wait there as they were typed', async () => {
    await go(`${at}/look/v1`);
    await page.getByRole('button', { name: 'JSON', exact: true }).click();
    const text = `{"id":   ${long}}`;
    await write('Arguments', text);
    await page.getByRole('alert').filter({ hasText: said }).waitFor();
    assert.ok(await page.getByRole('button', { name: 'Run', exact: true }).isDisabled());
    await page.keyboard.press('Control+Enter');
    await page.getByRole('button', { name: 'Form', exact: true }).click();
    await page.getByRole('button', { name: 'JSON', exact: true }).click();
    await comesToBe(() => page.locator('.cm-content').innerText(), text);
    await write('Arguments', '[]');
    await page.getByRole('alert').filter({ hasText: 'Arguments are an object' }).waitFor();
    assert.deepEqual(sent, []);
  });

  test('is refused in the schema of a tool before it is stored; the bounds of 64 bits are not', async () => {
    await go(`${at}/look/v1/edit`);
    const schema = (rest: string) => `{"type":"object","properties":{"id":{"type":"integer",${rest}}}}`;
    await write('Arguments', schema(`"maximum":9223372036854775807,"default":${long}`));
    await page.locator('.cm-lintRange-error', { hasText: long }).waitFor();
    await page.getByRole('button', { name: /^Save / }).click();
    await page.getByRole('alert').filter({ hasText: said }).first().waitFor();
    assert.deepEqual(sent, []);
    await write('Arguments', schema('"maximum":9223372036854775807'));
    await page.getByRole('button', { name: /^Save / }).click();
    await page.getByRole('heading', { name: 'Arguments' }).waitFor();
    assert.equal(sent.length, 1);
  });

  test('waits in the settings, and in an answer for which another program was asked', async () => {
    await go('/settings');
    await write('Snippets', `{"twice": {"body": "1", "params": {"n": {"default": ${long}}}}}`);
    await page.getByRole('alert').filter({ hasText: said }).waitFor();
    const save = page.getByRole('button', { name: 'Save', exact: true });
    assert.ok(await save.isDisabled());
    const sessionId = await asksElsewhere();
    await go(`/chat/${sessionId}`);
    const answer = page.getByRole('textbox', { name: 'Answer as JSON or text' });
    for (const [text, problem] of [
      [`{"id": ${long}}`, said],
      ['{"id": ', /not valid JSON yet/],
    ] as const) {
      await answer.fill(text);
      await page.getByRole('alert').filter({ hasText: problem }).waitFor();
      await answer.press('Enter');
    }
    await answer.fill('{"id": 7}');
    await answer.press('Enter');
    await page.locator('.bubble.agent', { hasText: /^got .*7/ }).waitFor();
  });
});

test('nothing went wrong in any tab', () => assert.deepEqual(world.troubles, []));
