import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { bundleId, comesToBe, setting, type Setting } from './browser-kit.ts';
import { path } from './furnish.ts';

let world: Setting;
let api: Server;
let address: string;
before(async () => {
  api = createServer((request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ asked: request.url, key: request.headers['x-key'] ? 'got a key' : 'none' }));
  });
  await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;
  world = await setting({ config: 'allowedHosts: ["127.0.0.1"]\n' });
});
after(async () => {
  await world.close();
  api.close();
});

describe('an empty home', () => {
  test('shows three things to do, and the first is done in three clicks', async () => {
    const page = await world.open('/');
    await page.getByRole('heading', { name: 'Welcome to Oubliette' }).waitFor();
    assert.equal(await page.locator('.step').count(), 3);
    await page.getByRole('button', { name: 'Try demo_foo' }).click();
    await page.getByLabel('text').fill('hello');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.locator('.meter .badge.good', { hasText: 'ok' }).waitFor();
    await page.context().close();
  });
});

test('two clicks on Run are one call', async () => {
  const { body } = await world.server.ask('GET', '/tools/tools/search?q=foo');
  const { bundleID, slug, version } = body.tools[0];
  const page = await world.open(`/tools/${bundleID}/${slug}/${version}`);
  const calls: string[] = [];
  page.on('request', (request) => request.url().endsWith('/invoke') && calls.push(request.url()));
  await page.getByLabel('text').fill('hello');
  await page.getByRole('button', { name: 'Run', exact: true }).dblclick();
  await page.locator('.meter .badge.good', { hasText: 'ok' }).waitFor();
  assert.equal(calls.length, 1);
  await page.context().close();
});

describe('tools', () => {
  test('are made in a form, tried, switched off, found and deleted', async () => {
    await world.server.call('secret_set', { name: 'MAP_KEY', value: 'a-real-secret-value' });
    const page = await world.open('/tools');
    await page.getByRole('button', { name: 'New bundle' }).first().click();
    await page.getByLabel('Name', { exact: false }).first().fill('City maps');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'City maps' }).waitFor();

    await page.getByRole('button', { name: 'New tool' }).click();
    await page.getByLabel('Name', { exact: false }).first().fill('Find a city');
    await page.getByLabel('Address').fill(`${address}/v1/\${city}`);
    await page.getByRole('button', { name: 'Add parameter' }).click();
    await page.getByLabel('Query parameters: name 1').fill('lang');
    await page.getByLabel('Query parameters: value 1').fill('${language}');
    await page.getByLabel('Way').selectOption('apiKey');
    await page.getByRole('textbox', { name: 'Name', exact: true }).nth(0).waitFor();
    await page.locator('fieldset').getByLabel('Name').fill('x-key');
    await page.locator('fieldset').getByLabel('Value').fill('${MAP_KEY}');
    await page.locator('.badge', { hasText: 'MAP_KEY secret' }).waitFor();
    await page.locator('.badge.bad', { hasText: 'city unknown' }).waitFor();

    await page
      .locator('.cm-content')
      .first()
      .fill('{"type": "object", "properties": {"city": {"type": "strin"}}, "required": ["city"]}');
    await page.getByRole('button', { name: 'Save tool' }).click();
    await page.locator('.problem').first().waitFor();
    assert.equal(
      await page.getByLabel('Address').inputValue(),
      `${address}/v1/\${city}`,
      'a refused save keeps every field',
    );
    await page
      .locator('.cm-content')
      .first()
      .fill(
        '{"type": "object", "properties": {"city": {"type": "string"}, "language": {"type": "string"}}, "required": ["city"]}',
      );
    await page.locator('.badge.accent', { hasText: 'city argument' }).waitFor();
    await page.getByRole('button', { name: 'Save tool' }).click();
    await page.getByRole('heading', { name: 'Find a city' }).waitFor();

    await page.getByRole('textbox', { name: 'city' }).fill('Bonn & Köln');
    await page.locator('pre', { hasText: 'x-key: [secret:MAP_KEY]' }).waitFor();
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.locator('pre', { hasText: '"asked": "/v1/Bonn%20%26%20K%C3%B6ln' }).waitFor();
    assert.match(await page.locator('pre', { hasText: 'asked' }).innerText(), /got a key/);
    assert.doesNotMatch(await page.content(), /a-real-secret-value/);
    await page.getByRole('heading', { name: 'History' }).waitFor();

    await page.getByRole('switch', { name: 'Turn off Find a city' }).click();
    await page.getByRole('switch', { name: 'Turn on Find a city' }).waitFor();
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.locator('.note.bad', { hasText: 'disabled' }).waitFor();

    await page.goto(`${world.server.url}/app/tools?q=fnid`);
    await page.getByRole('link', { name: 'Find a city' }).click();
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Delete this version' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete this version' }).click();
    await page.getByText('No tools yet').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('link', { name: 'Find a city' }).waitFor();
    await page.context().close();
  });

  test('edited once stored become a new version, with the difference shown', async () => {
    await seed('edit', 1);
    const page = await world.open(`/tools/${bundleId(1)}/tool/v1/edit`);
    await comesToBe(() => page.getByLabel('Version').inputValue(), 'v2');
    await page.getByLabel('Description').fill('Now with words');
    await page.locator('.cm-insertedLine, .cm-changedLine', { hasText: 'Now with words' }).first().waitFor();
    await page.reload();
    await comesToBe(() => page.getByLabel('Description').inputValue(), 'Now with words');
    await page.getByRole('button', { name: 'Save as v2' }).click();
    await page.locator('h1', { hasText: 'Tool' }).waitFor();
    await page.getByRole('tab', { name: 'Versions' }).click();
    await page.getByRole('link', { name: 'v1' }).waitFor();
    assert.equal((await world.server.ask('GET', path(bundleId(1), 'tool', 'v1'))).body.description, undefined);
    assert.equal((await world.server.ask('GET', path(bundleId(1), 'tool', 'v2'))).body.description, 'Now with words');
    await page.context().close();
  });

  test('that are built in can only be switched', async () => {
    const page = await world.open('/tools');
    await page.getByRole('link', { name: 'Demo', exact: true }).click();
    await page.getByText('Built in: its tools can be switched').waitFor();
    assert.equal(await page.getByRole('button', { name: 'New tool' }).count(), 0);
    await page.context().close();
  });

  test('switch back when the server refuses', async () => {
    await seed('rolled', 2);
    const page = await world.open('/');
    // Without news from the server the page cannot know yet that the bundle was switched off elsewhere.
    await page.route('**/events?*', (route) => route.abort());
    await page.goto(`${world.server.url}/app/tools/${bundleId(2)}`);
    await page.getByRole('switch', { name: 'Turn off Tool' }).waitFor();
    await world.server.ask('PATCH', `/tools/bundles/${bundleId(2)}`, { isEnabled: false });
    await page.getByRole('switch', { name: 'Turn off Tool' }).click();
    await page.locator('.toast.bad', { hasText: 'disabled' }).waitFor();
    await page.getByText('This bundle is off').waitFor();
    await comesToBe(() => page.getByRole('switch', { name: 'Turn off Tool' }).isDisabled(), true);
    await page.context().close();
  });

  test('come in and go out as ZIP files', async () => {
    await seed('parcel', 3);
    const page = await world.open(`/tools/${bundleId(3)}`);
    await page.getByRole('button', { name: 'More actions' }).click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: 'Export as ZIP' }).click(),
    ]);
    assert.equal(download.suggestedFilename(), 'parcel.zip');
    const file = await download.path();
    await page.goto(`${world.server.url}/app/tools/import`);
    await page.getByLabel('File').setInputFiles({
      name: 'parcel.zip',
      mimeType: 'application/zip',
      buffer: await (await import('node:fs/promises')).readFile(file),
    });
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByText('1 there already').waitFor();
    await page.context().close();
  });

  test('come from an OpenAPI document and from a curl command', async () => {
    const page = await world.open('/tools/import?from=openapi');
    const document = {
      openapi: '3.0.0',
      info: { title: 'Pets', version: '1' },
      servers: [{ url: address }],
      paths: {
        '/pets/{id}': {
          get: {
            operationId: 'getPet',
            parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
            responses: { 200: { description: 'ok' } },
          },
        },
      },
    };
    await page.getByLabel('Document', { exact: true }).setInputFiles({
      name: 'pets.json',
      mimeType: 'application/json',
      buffer: Buffer.from(JSON.stringify(document)),
    });
    await page.getByRole('button', { name: 'Look first' }).click();
    await page.getByText('Would make 1 tool of 1 operations').waitFor();
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByText('Made 1 tool of 1 operations').waitFor();
    await page.getByRole('tab', { name: 'curl' }).click();
    await page.getByLabel('Command').fill(`curl '${address}/items?limit=5' -H 'x-key: a-long-credential'`);
    const kept = (await page.evaluate(`JSON.stringify({ ...localStorage })`)) as string;
    assert.ok(!kept.includes('a-long-credential'), 'a credential is not kept in the browser');
    await page.getByLabel('Bundle (slug)').fill('pets');
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    await page.locator('.note.good', { hasText: 'Made pets /' }).waitFor();
    await page.goto(`${world.server.url}/app/tools?q=pets`);
    await page.getByRole('heading', { name: 'Bundles' }).waitFor();
    await page.getByText('2 tools').first().waitFor();
    await page.context().close();
  });

  test('are shown page by page when a bundle holds hundreds', async () => {
    await seed('many', 4);
    const bodies = Array.from({ length: 300 }, (_, index) => index);
    await Promise.all(
      bodies.map((index) =>
        world.server.ask('PUT', path(bundleId(4), `tool-${index}`, 'v1'), toolBody(`Number ${index}`)),
      ),
    );
    const page = await world.open(`/tools/${bundleId(4)}`);
    await page.getByRole('button', { name: 'Load more' }).waitFor();
    assert.equal(await page.locator('.rows > li').count(), 50, 'a page at a time');
    await page.getByRole('searchbox').fill('tool-299');
    await page.getByRole('link', { name: 'Number 299' }).waitFor();
    await page.context().close();
  });
});

describe('what tools answer', () => {
  test('is text and nothing else, however large or hostile', async () => {
    await world.server.ask('PUT', `/tools/bundles/${bundleId(5)}`, {
      slug: 'hostile',
      displayName: 'Hostile',
      isEnabled: true,
    });
    const stored = await world.server.ask('PUT', path(bundleId(5), 'large', 'v1'), {
      ...toolBody('<img src=x onerror=window.taken=1>'),
      type: 'script',
      functionImpl: undefined,
      scriptImpl: { code: '"<script>window.taken=1</script>" + "x" * 3000000' },
    });
    assert.equal(stored.status, 201, JSON.stringify(stored.body));
    const page = await world.open(`/tools/${bundleId(5)}/large/v1`);
    await page.getByLabel('text').fill('x');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByRole('button', { name: 'Show more' }).waitFor();
    assert.match(await page.locator('pre.out').last().innerText(), /<script>/);
    assert.equal(await page.evaluate('window.taken'), undefined);
    assert.equal(await page.locator('main img, main script').count(), 0);
    await page.context().close();
  });
});

test('nothing went wrong in any tab', () => assert.deepEqual(world.troubles, []));

const toolBody = (displayName: string) => ({
  displayName,
  isEnabled: true,
  type: 'function',
  argSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  functionImpl: { func: 'demo.foo' },
});

async function seed(slug: string, number: number): Promise<void> {
  await world.server.ask('PUT', `/tools/bundles/${bundleId(number)}`, { slug, displayName: slug, isEnabled: true });
  await world.server.ask('PUT', path(bundleId(number), 'tool', 'v1'), toolBody('Tool'));
}
