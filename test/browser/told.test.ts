import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { axeFindings, bundleId, comesToBe, setting, type Setting } from './browser-kit.ts';
import { path } from './furnish.ts';

let world: Setting;
let page: Page;
before(async () => {
  world = await setting();
  const named = { slug: 'told', displayName: 'Told', isEnabled: true };
  await world.server.ask('PUT', `/tools/bundles/${bundleId(1)}`, named);
  const many = Array.from({ length: 12 }, (_, index) => [`note${index}`, { type: 'string' }]);
  const stored = await world.server.ask('PUT', path(bundleId(1), 'long', 'v1'), {
    displayName: 'A long form',
    isEnabled: true,
    type: 'script',
    argSchema: {
      type: 'object',
      properties: { city: { type: 'string' }, ...Object.fromEntries(many) },
      required: ['city'],
    },
    scriptImpl: { code: 'city' },
  });
  assert.equal(stored.status, 201, JSON.stringify(stored.body));
  page = await world.open('/', { width: 390 });
});
after(() => world.close());

const at = `/tools/${bundleId(1)}`;
const go = async (place: string): Promise<void> => {
  await page.goto(`${world.server.url}/app${place}`);
  await page.locator('h1').first().waitFor();
};
const focused = () => page.evaluate('document.activeElement.labels?.[0]?.innerText.replace(/\\W/g, "")');

test('a field that is refused far from the button gets the focus, and what is answered comes into a live region', async () => {
  await go(`${at}/long/v1`);
  const status = await page.locator('.card', { hasText: 'Answer' }).getByRole('status').elementHandle();
  const run = page.getByRole('button', { name: 'Run', exact: true });
  await run.click();
  await comesToBe(focused, 'city');
  await page.getByRole('textbox', { name: 'city' }).fill('Bonn');
  await run.click();
  await comesToBe(async () => (await status!.innerText()).startsWith('ok'), true);
});

test('a limit that is refused in a closed part of the editor is opened and gets the focus', async () => {
  await go(`${at}/long/v1/edit`);
  await page.locator('summary', { hasText: 'Limits' }).click();
  const limit = page.locator('details', { hasText: 'Limits' }).getByRole('textbox').first();
  await limit.fill('many');
  await page.reload();
  assert.equal(await limit.isVisible(), false);
  await page.getByRole('button', { name: 'Save as v2' }).click();
  await comesToBe(() => page.evaluate('document.activeElement.value'), 'many');
});

test('the answer of the console comes into a live region, and tables that scroll are reached by key', async () => {
  await go('/console');
  const status = await page.locator('.card', { hasText: 'Output' }).getByRole('status').elementHandle();
  await page.getByRole('button', { name: /^Run/ }).click();
  await comesToBe(async () => (await status!.innerText()).startsWith('ok'), true);
  await go('/stats');
  await page.locator('.table-wrap td').first().waitFor();
  assert.deepEqual(await axeFindings(page), []);
});

test('nothing went wrong in any tab', () => assert.deepEqual(world.troubles, []));
