import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { bundleId, comesToBe, setting, type Setting } from './browser-kit.ts';
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

  test('keeps an entry under its new name alone, and each row its own text when another one goes', async () => {
    await tool('rows', {
      type: 'object',
      properties: {
        labels: { type: 'object', additionalProperties: { type: 'string' } },
        list: { type: 'array', items: {} },
      },
    });
    await page.getByRole('button', { name: 'labels', exact: true }).click();
    const entries = page.getByRole('group', { name: 'labels' });
    await entries.getByRole('button', { name: 'Add entry' }).click();
    await entries.getByRole('textbox', { name: 'Key' }).fill('colour');
    await entries.getByRole('textbox', { name: 'Value' }).fill('red');
    await entries.getByRole('button', { name: 'Add entry' }).click();
    await entries.getByRole('textbox', { name: 'Key' }).nth(1).fill('size');
    await entries.getByRole('textbox', { name: 'Value' }).nth(1).fill('12');
    await entries.getByRole('button', { name: 'Remove colour' }).click();
    await comesToBe(() => entries.getByRole('textbox', { name: 'Key' }).inputValue(), 'size');
    const list = page.getByRole('group', { name: 'list' });
    for (const [index, text] of ['{"a": 1}', 'two'].entries()) {
      await list.getByRole('button', { name: 'Add item' }).click();
      await list.getByRole('textbox').nth(index).fill(text);
    }
    await list.getByRole('button', { name: 'Remove 1' }).click();
    await comesToBe(() => list.getByRole('textbox').inputValue(), '"two"');
    await run();
    await page.locator('.meter .badge.good').waitFor();
    assert.deepEqual(await sent(), { labels: { size: '12' }, list: ['two'] });
  });

  test('sends no JSON that is only half typed, and does not take the focus from a text that grows long', async () => {
    await tool('half', {
      type: 'object',
      properties: { name: { type: 'string' }, anything: {}, kind: { $ref: '#/definitions/kind' } },
      definitions: {
        kind: {
          oneOf: ['circle', 'square'].map((kind) => ({
            type: 'object',
            properties: { kind: { const: kind }, [`of ${kind}`]: { type: 'number' } },
            required: ['kind'],
          })),
        },
      },
    });
    await page.getByRole('textbox', { name: 'name' }).focus();
    await page.keyboard.type('n'.repeat(90));
    assert.equal(await page.getByRole('textbox', { name: 'name' }).inputValue(), 'n'.repeat(90));
    await page.getByLabel('Form', { exact: true }).selectOption('square');
    await page.getByRole('textbox', { name: 'of square' }).fill('2');
    await page.getByRole('textbox', { name: 'anything' }).fill('[1]');
    await page.getByRole('textbox', { name: 'anything' }).fill('[1, 2');
    await page.getByText('This is not valid JSON yet.').waitFor();
    await run();
    await comesToBe(() => page.evaluate('document.activeElement.value'), '[1, 2');
    await page.getByText('Nothing was run yet').waitFor();
    await page.getByRole('textbox', { name: 'anything' }).fill('[1, 2]');
    await run();
    await page.locator('.meter .badge.good').waitFor();
    const args = { name: 'n'.repeat(90), anything: [1, 2], kind: { kind: 'square', 'of square': 2 } };
    assert.deepEqual(await sent(), args);
    await page.reload();
    await comesToBe(() => page.getByRole('textbox', { name: 'of square' }).inputValue(), '2');
  });
});

describe('a call', () => {
  test('that is cancelled says so, and not that it was refused', async () => {
    await tool('slow', { type: 'object', properties: {} });
    await page.route('**/invoke', () => undefined);
    await run();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.locator('.note', { hasText: 'Cancelled.' }).waitFor();
    assert.equal(await page.getByText('Refused before it ran').count(), 0);
    await page.unroute('**/invoke');
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
    await page.locator('.chat-head .badge', { hasText: 'idle' }).waitFor();
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
    await link.waitFor();
    assert.match(await link.innerText(), /our bank \(evil\.example\)/);
    assert.equal(await page.locator('.bubble.agent a[href^="javascript"]').count(), 0);
  });
});

describe('names as long as they may be', () => {
  test('break where they must and never push a page sideways', async () => {
    const long = 'w'.repeat(64);
    const named = { displayName: long.repeat(3), isEnabled: true, description: long.repeat(9) };
    const tall = { type: 'object', properties: { [long]: { type: 'string', description: long.repeat(3) } } };
    await world.server.ask('PUT', `/tools/bundles/${bundleId(9)}`, { slug: long, ...named });
    const body = { ...named, tags: [long], type: 'script', argSchema: tall, scriptImpl: { code: '1' } };
    assert.equal((await world.server.ask('PUT', path(bundleId(9), long, long), body)).status, 201);
    await world.server.call('secret_set', {
      name: 'W'.repeat(64),
      value: 'not-a-real-one',
      hosts: [`${'w'.repeat(60)}.example.org`],
    });
    await world.server.call('project_create', { name: 'w'.repeat(128) });
    const narrow = await world.open('/', { width: 390 });
    const at = `/tools/${bundleId(9)}`;
    for (const place of [
      '/tools',
      at,
      `${at}/${long}/${long}`,
      `${at}/${long}/${long}/edit`,
      '/secrets',
      '/sessions',
      '/chat',
    ]) {
      await narrow.goto(`${world.server.url}/app${place}`);
      await narrow.locator('h1').first().waitFor();
      await narrow.locator('body', { hasText: /w{30}/i }).waitFor();
      const wider = await narrow.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      assert.equal(wider, 0, `${place} scrolls sideways`);
    }
    await narrow.goto(`${world.server.url}/app/no/such/page`);
    await narrow.getByRole('heading', { name: 'Not found' }).waitFor();
    await narrow.locator('.app .nav').first().waitFor({ state: 'attached' });
    await narrow.context().close();
  });
});

test('nothing went wrong in any tab', () => assert.deepEqual(world.troubles, []));
