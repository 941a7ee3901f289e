import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { bundleId, setting, type Setting } from './browser-kit.ts';
import { path } from './furnish.ts';

let world: Setting;
let page: Page;
before(async () => {
  world = await setting();
  await world.server.ask('PUT', `/tools/bundles/${bundleId(1)}`, {
    slug: 'nasty',
    displayName: 'Nasty',
    isEnabled: true,
  });
  page = await world.open('/');
});
after(() => world.close());

async function tool(slug: string, argSchema: object): Promise<void> {
  const body = { displayName: slug, isEnabled: true, type: 'script', argSchema, scriptImpl: { code: '"taken"' } };
  const stored = await world.server.ask('PUT', path(bundleId(1), slug, 'v1'), body);
  assert.equal(stored.status, 201, JSON.stringify(stored.body));
  await page.goto(`${world.server.url}/app/tools/${bundleId(1)}/${slug}/v1`);
  await page.getByRole('heading', { name: 'Arguments' }).waitFor();
}

const run = () => page.getByRole('button', { name: 'Run', exact: true }).click();
const sent = async (): Promise<unknown> => {
  await page.getByRole('button', { name: 'JSON', exact: true }).click();
  return JSON.parse((await page.locator('.cm-content').innerText()).replace(/\n\n/g, '\n'));
};

describe('a form', () => {
  test('of a schema that holds itself opens one level at a time', async () => {
    await tool('recursive', {
      type: 'object',
      properties: { name: { type: 'string' }, next: { $ref: '#' } },
      required: ['name'],
    });
    await page.getByRole('textbox', { name: 'name' }).first().fill('first');
    await page.getByRole('button', { name: 'next', exact: true }).click();
    await page.getByRole('textbox', { name: 'name' }).nth(1).fill('second');
    await run();
    await page.locator('.meter .badge.good').waitFor();
    assert.deepEqual(await sent(), { name: 'first', next: { name: 'second' } });
  });

  test('offers the branches of a union and forgets the other one', async () => {
    await tool('union', {
      type: 'object',
      properties: {
        shape: {
          oneOf: [
            { title: 'Circle', type: 'object', properties: { radius: { type: 'number' } }, required: ['radius'] },
            { title: 'Word', type: 'string' },
          ],
        },
      },
    });
    await page.getByLabel('Form', { exact: true }).selectOption('Word');
    await page.getByRole('textbox', { name: 'Value' }).fill('round');
    await page.getByLabel('Form', { exact: true }).selectOption('Circle');
    await page.getByRole('textbox', { name: 'radius' }).fill('2.5');
    await run();
    await page.locator('.meter .badge.good').waitFor();
    assert.deepEqual(await sent(), { shape: { radius: 2.5 } });
  });

  test('takes any JSON where the schema says nothing, and shows what does not fit beside its field', async () => {
    await tool('free', {
      properties: { anything: {}, many: { type: 'array', items: { type: 'integer' } } },
      required: ['anything'],
    });
    await page.getByRole('textbox', { name: 'anything' }).fill('[1, {"a": null}]');
    await page.getByRole('button', { name: 'Add item' }).click();
    await page.getByRole('textbox', { name: '1', exact: true }).fill('no number');
    await run();
    await page.locator('.problem').first().waitFor();
    await page.getByRole('textbox', { name: '1', exact: true }).fill('7');
    await run();
    await page.locator('.meter .badge.good').waitFor();
    assert.deepEqual(await sent(), { anything: [1, { a: null }], many: [7] });
  });
});

describe('words of an agent', () => {
  test('never become elements, load nothing, and do not freeze the page', async () => {
    const project = await world.server.call('project_create', { name: 'Words' });
    const message = `"<img src=x onerror=window.taken=1> ![pic](https://evil.example/p.png) [click](javascript:alert(1)) [site](https://evil.example/x) " + "[" * 100000 + " \u202Etxet"`;
    const { session_id } = (await world.server.call('session_spawn', { project_id: project.value.id, message })).value;
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.goto(`${world.server.url}/app/chat/${session_id}`);
    await page.locator('.chat-head .badge', { hasText: 'idle' }).waitFor({ timeout: 30_000 });
    const said = page.locator('.bubble.agent').last();
    await said.waitFor();
    assert.equal(await said.locator('img, script').count(), 0);
    assert.equal(await page.evaluate('window.taken'), undefined);
    assert.deepEqual(
      asked.filter((url) => !url.startsWith(world.server.url)),
      [],
    );
    await page.getByRole('textbox', { name: 'Message', exact: true }).fill('still alive');
  });

  test('show the host of every link', async () => {
    const project = await world.server.call('project_create', { name: 'Links' });
    const message = `"See [our bank](https://evil.example/login) or [run](javascript:alert(1))"`;
    const { session_id } = (await world.server.call('session_spawn', { project_id: project.value.id, message })).value;
    await page.goto(`${world.server.url}/app/chat/${session_id}`);
    const link = page.locator('.bubble.agent a');
    await link.waitFor({ timeout: 30_000 });
    assert.match(await link.innerText(), /our bank \(evil\.example\)/);
    assert.equal(await page.locator('.bubble.agent a[href^="javascript"]').count(), 0);
  });
});

test('nothing went wrong in any tab', () => assert.deepEqual(world.troubles, []));
