import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { bundleId, comesToBe, setting, type Setting } from './browser-kit.ts';
import { path } from './furnish.ts';

let world: Setting;
let page: Page;
before(async () => {
  world = await setting({ config: 'allowedHosts: ["127.0.0.1"]\n' });
  const named = { slug: 'kept', displayName: 'Kept', isEnabled: true };
  await world.server.ask('PUT', `/tools/bundles/${bundleId(1)}`, named);
  page = await world.open('/');
});
after(() => world.close());

const at = `/tools/${bundleId(1)}`;
const go = async (place: string): Promise<void> => {
  await page.goto(`${world.server.url}/app${place}`);
  await page.locator('h1').first().waitFor();
};
async function store(slug: string, body: object): Promise<void> {
  const stored = await world.server.ask('PUT', path(bundleId(1), slug, 'v1'), {
    displayName: slug,
    isEnabled: true,
    argSchema: { type: 'object', properties: { a: { type: 'string' } } },
    ...body,
  });
  assert.equal(stored.status, 201, JSON.stringify(stored.body));
}
const alert = (text: string | RegExp) => page.getByRole('alert').filter({ hasText: text }).first();

describe('a form', () => {
  test('of arguments that have the names of what every object inherits is a form like any other', async () => {
    const properties = {
      constructor: { type: 'string' },
      toString: { type: 'integer' },
      valueOf: { type: 'object', properties: { a: { type: 'string' } } },
    };
    const argSchema = { type: 'object', properties };
    await store('inherited', { type: 'script', argSchema, scriptImpl: { code: 'constructor' } });
    await go(`${at}/inherited/v1`);
    await comesToBe(() => page.getByRole('textbox', { name: 'constructor' }).inputValue(), '');
    await page.getByRole('textbox', { name: 'constructor' }).fill('mine');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.locator('.meter .badge.good').waitFor();
  });

  test('of a request keeps lists in its query, and refuses rows of which one would be lost', async () => {
    const request = { method: 'GET', urlTemplate: 'http://127.0.0.1:9/', query: { tag: ['${a}', 'fixed'] } };
    await store('lists', { type: 'http', httpImpl: { request } });
    await go(`${at}/lists/v1/edit`);
    await page.getByText('Nothing is different yet.').waitFor();
    await page.getByRole('button', { name: 'Add parameter' }).click();
    await page.getByRole('textbox', { name: 'Query parameters: value 2' }).fill('2');
    const save = page.getByRole('button', { name: 'Save as v2' });
    await save.click();
    await alert('A row has a value but no name.').waitFor();
    await page.getByRole('textbox', { name: 'Query parameters: name 2' }).fill('tag');
    await save.click();
    await alert('There are two rows named tag.').waitFor();
    await page.getByRole('textbox', { name: 'Query parameters: name 2' }).fill('page');
    await save.click();
    await page.getByRole('heading', { name: 'Arguments' }).waitFor();
    const { body } = await world.server.ask('GET', path(bundleId(1), 'lists', 'v2'));
    assert.deepEqual(body.httpImpl.request.query, { tag: ['${a}', 'fixed'], page: '2' });
  });
});

describe('what was begun', () => {
  test('is gone on with when examples are put into the tool, and named before a program replaces it', async () => {
    await store('begun', { type: 'script', scriptImpl: { code: 'a' } });
    await go(`${at}/begun/v1/edit`);
    await page.getByRole('textbox', { name: 'Description' }).fill('half a sentence');
    await go(`${at}/begun/v1`);
    await page.getByRole('textbox', { name: 'a', exact: true }).fill('x');
    await page.getByRole('button', { name: 'Save as example' }).click();
    await page.getByRole('button', { name: 'Put into a new version' }).click();
    await comesToBe(() => page.getByRole('textbox', { name: 'Description' }).inputValue(), 'half a sentence');
    await page.locator('.cm-content', { hasText: '"examples"' }).first().waitFor();
    const warning = page.getByText('did not save is replaced');
    await go('/console');
    await page.getByRole('button', { name: 'Make it a tool' }).click();
    await page.getByRole('combobox', { name: 'Into bundle' }).waitFor();
    assert.equal(await warning.count(), 0);
    await go(`${at}/new`);
    await page.getByRole('textbox', { name: 'Description' }).fill('another half');
    await go('/console');
    await page.getByRole('button', { name: 'Make it a tool' }).click();
    await warning.waitFor();
  });

  test('is not thrown away by a click beside the dialog when it cannot be had again', async () => {
    await go('/tokens');
    await page.getByRole('button', { name: 'New token' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('once');
    await page.getByRole('button', { name: 'Create token' }).click();
    await page.getByTestId('token-secret').waitFor();
    await page.mouse.click(5, 5);
    await page.getByRole('button', { name: 'Copy', exact: true }).click();
    assert.match(await page.getByTestId('token-secret').innerText(), /^oub_/);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });
});

test('a search for a whole document leaves an address that opens again', async () => {
  await go('/tools');
  await page.getByRole('searchbox').first().focus();
  await page.keyboard.insertText('x y'.repeat(12_000));
  await page.waitForURL(/[?&]q=/);
  await page.reload();
  await page.getByRole('heading', { name: 'Tools', exact: true }).waitFor();
});

test('the host to allow for a curl command is its host alone, without credentials', async () => {
  await go('/tools/import?from=curl');
  await page.getByRole('textbox', { name: 'Command' }).fill("curl 'https://me:secret@api.example.org?x=1'");
  await page.getByRole('textbox', { name: 'Bundle (slug)' }).fill('fresh');
  await page.getByRole('button', { name: 'Import', exact: true }).click();
  await alert('Sends requests to: api.example.org').waitFor();
  await page.getByRole('button', { name: 'Allow these hosts' }).click();
  await page.getByText('Allowed: api.example.org').first().waitFor();
});

describe('on a narrow screen', () => {
  test('what gets the focus is not left under the bar, and a chat without a past has no empty strip', async () => {
    const narrow = await world.open('/settings', { width: 390 });
    await narrow.getByRole('searchbox').waitFor();
    // Editors that come later would move what is below them.
    await narrow.locator('.editor .cm-content').first().waitFor();
    await comesToBe(() => narrow.locator('.skeleton').count(), 0);
    const hidden = `(() => {
      const { top } = document.activeElement.getBoundingClientRect();
      return document.activeElement !== document.body && !document.activeElement.closest('.topbar, .skip') &&
        top < document.querySelector('.topbar').getBoundingClientRect().bottom;
    })()`;
    await narrow.locator('.page input').last().focus();
    for (let step = 0; step < 45; step++) {
      await narrow.keyboard.press('Shift+Tab');
      assert.equal(
        await narrow.evaluate(hidden),
        false,
        String(await narrow.evaluate('document.activeElement.outerHTML')),
      );
    }
    await narrow.goto(`${world.server.url}/app/chat`);
    await narrow.getByRole('heading', { name: 'Make a project to talk in' }).waitFor();
    assert.equal(await narrow.locator('.chat-list').isVisible(), false);
    await narrow.context().close();
  });
});

test('nothing went wrong in any tab', () => assert.deepEqual(world.troubles, []));
