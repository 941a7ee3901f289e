import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { testServer } from '../kit/server.ts';
import { bundleId, comesToBe, setting, signInLink, type Setting } from './browser-kit.ts';

let world: Setting;
before(async () => {
  world = await setting();
  await world.server.ask('PUT', `/tools/bundles/${bundleId(1)}`, {
    slug: 'mine',
    displayName: 'Mine',
    isEnabled: true,
  });
});
after(() => world.close());

describe('the first load', () => {
  test('is under 300 KB, compressed, editors and charts not in it', async () => {
    const folder = join(import.meta.dirname, '..', '..', 'ui', 'dist');
    const page = await readFile(join(folder, 'index.html'), 'utf8');
    const wanted = new Set([...page.matchAll(/\/app\/(assets\/[\w.-]+)/g)].map((match) => match[1]!));
    for (const file of wanted)
      if (file.endsWith('.js'))
        for (const [, next] of (await readFile(join(folder, file), 'utf8')).matchAll(
          /(?:from|import)\s*"\.\/([\w.-]+\.js)"/g,
        ))
          wanted.add(`assets/${next}`);
    let bytes = gzipSync(page).length;
    for (const file of wanted) bytes += gzipSync(await readFile(join(folder, file))).length;
    assert.ok(wanted.size > 1, 'the files of the page were found');
    assert.ok(bytes < 300_000, `${bytes} bytes`);
    assert.ok(![...wanted].some((file) => /code-editor|diff-view|chart/.test(file)), [...wanted].join());
    assert.ok((await readdir(join(folder, 'assets'))).some((file) => file.startsWith('code-editor')));
  });
});

describe('a sign-in', () => {
  test('that ends in mid-form asks again on top of the page and loses nothing', async () => {
    const page = await world.open(`/tools/${bundleId(1)}/new`);
    await page.getByLabel('Name', { exact: false }).first().fill('Half done');
    await page.getByLabel('Address').fill('https://example.com/${x}');
    await page.context().clearCookies();
    await page.getByRole('button', { name: 'Save tool' }).click();
    await page.getByRole('heading', { name: 'Please sign in again' }).waitFor();
    const link = await signInLink(world.server);
    await page.getByLabel('Sign-in link, code or token').fill(link);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Please sign in again' }).waitFor({ state: 'detached' });
    assert.equal(await page.getByLabel('Address').inputValue(), 'https://example.com/${x}');
    await page.getByRole('button', { name: 'Save tool' }).click();
    await page.locator('.problem', { hasText: 'example.com' }).waitFor();
    await page.context().close();
  });

  test('works when the link is pasted into the address bar of a page that asks for it', async () => {
    const page = await world.browser.newPage();
    await page.goto(`${world.server.url}/app/`);
    await page.getByRole('heading', { name: 'Sign in to Oubliette' }).waitFor();
    await page.goto(await signInLink(world.server));
    await page.locator('.app').waitFor();
    await page.close();
  });

  test('with a used link says so and takes a token instead', async () => {
    const link = await signInLink(world.server);
    const page = await world.browser.newPage();
    await page.goto(link);
    await page.locator('.app').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in to Oubliette' }).waitFor();
    assert.equal(
      await page.evaluate(`Object.keys(localStorage).filter((key) => !/theme|language/.test(key)).join()`),
      '',
    );
    await page.goto('about:blank');
    await page.goto(link);
    await page.locator('.problem', { hasText: 'used' }).waitFor();
    await page.getByLabel('Sign-in link, code or token').fill(world.server.token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.locator('.app').waitFor();
    assert.doesNotMatch(page.url(), /code=/);
    await page.close();
  });

  test('by hand leads to the page that was asked for, also in a browser that has no room left', async () => {
    const page = await world.browser.newPage();
    await page.goto(`${world.server.url}/app/tools?q=404`);
    await page.getByRole('heading', { name: 'Sign in to Oubliette' }).waitFor();
    await page.evaluate(() => {
      for (let size = 2 ** 22; size >= 1; size /= 2)
        try {
          for (let count = 0; ; count++)
            localStorage.setItem(`oubliette.chat-results.${size} ${count}`, 'x'.repeat(size));
        } catch {
          continue;
        }
    });
    await page.getByLabel('Sign-in link, code or token').fill(world.server.token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await comesToBe(() => page.getByRole('searchbox', { name: 'Search all tools' }).inputValue(), '404');
    await page.reload();
    await page.getByText('No tool matches “404”').waitFor();
    await page.close();
  });

  test('with a token of a lower level offers only what it can open', async () => {
    const { token } = (await world.server.call('token_create', { name: 'looker', scope: 'read' })).value;
    const page = await world.browser.newPage();
    await page.goto(`${world.server.url}/app/signin`);
    await page.getByLabel('Sign-in link, code or token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.locator('.app').waitFor();
    await comesToBe(
      async () => (await page.locator('.side nav a').allInnerTexts()).map((name) => name.trim()),
      ['Home', 'Chat', 'Tools', 'Console', 'Sessions'],
    );
    await page.goto(`${world.server.url}/app/secrets`);
    await page.getByText('secret_list needs level admin').waitFor();
    await page.close();
  });
});

describe('two tabs', () => {
  test('that edit the same thing are told, and the second save does not overwrite unseen', async () => {
    const first = await world.open(`/tools/${bundleId(1)}`);
    const second = await first.context().newPage();
    await second.goto(first.url());
    for (const page of [first, second]) {
      await page.getByRole('button', { name: 'More actions' }).click();
      await page.getByRole('menuitem', { name: 'Edit bundle' }).click();
    }
    await first.getByRole('dialog').getByLabel('Description').fill('From the first');
    await second.getByText('Another tab is editing').waitFor();
    await first.getByRole('button', { name: 'Save' }).click();
    await first.getByRole('dialog').waitFor({ state: 'detached' });
    await second.getByRole('dialog').getByLabel('Description').fill('From the second');
    await second.getByRole('button', { name: 'Save' }).click();
    await second.getByText('Somebody changed this bundle').waitFor();
    const { body } = await world.server.ask('GET', `/tools/bundles?bundleIDs=${bundleId(1)}`);
    assert.equal(body.bundles[0].description, 'From the first');
    await second.getByRole('button', { name: 'Overwrite' }).click();
    await second.getByRole('dialog').waitFor({ state: 'detached' });
    await first.getByText('From the second').waitFor();
    await first.context().close();
  });
});

describe('a server', () => {
  test('that goes away and comes back is waited for, with the page and the sign-in kept', async () => {
    const server = await testServer();
    const port = Number(new URL(server.url).port);
    const page = await world.browser.newPage();
    await page.goto(await signInLink(server));
    await page.locator('.app').waitFor();
    await page.goto(`${server.url}/app/console`);
    await page.locator('.cm-content').fill('# kept');
    await server.close();
    await page.getByText('The server cannot be reached').waitFor();
    const again = await testServer({ home: server.home, port });
    await page.getByText('The server cannot be reached').waitFor({ state: 'detached', timeout: 60_000 });
    await page.locator('.cm-content').fill('1 + 1');
    await page.getByRole('button', { name: /^Run/ }).click();
    await page.locator('pre', { hasText: /^2$/ }).waitFor();
    await page.close();
    await again.remove();
  });
});

describe('the page', () => {
  test('speaks German after a choice, also after a reload, and follows the chosen theme', async () => {
    const page = await world.open('/tokens');
    await page.getByLabel('Language').selectOption('de');
    await page.getByRole('heading', { name: 'Tokens' }).waitFor();
    await page.getByRole('button', { name: 'Neues Token' }).waitFor();
    await page.getByLabel('Farbschema').selectOption('dark');
    await page.reload();
    await page.getByRole('button', { name: 'Neues Token' }).waitFor();
    await comesToBe(() => page.locator('html').getAttribute('data-theme'), 'dark');
    await comesToBe(() => page.locator('html').getAttribute('lang'), 'de');
    await page.context().close();
  });

  test("writes times in the reader's zone, as the reader's country writes them", async () => {
    const project = await world.server.call('project_create', { name: 'Times' });
    const spawned = await world.server.call('session_spawn', { project_id: project.value.id, message: '1' });
    const { session_id } = spawned.value;
    const read = async (locale: string, timezoneId: string): Promise<{ shown: string; at: Date }> => {
      const context = await world.browser.newContext({ locale, timezoneId });
      const page = await context.newPage();
      await page.goto(await signInLink(world.server));
      await page.locator('.app').waitFor();
      await page.goto(`${world.server.url}/app/sessions/${session_id}`);
      const time = page.locator('.timeline time').first();
      await time.waitFor();
      const found = { shown: await time.innerText(), at: new Date((await time.getAttribute('datetime'))!) };
      await context.close();
      return found;
    };
    for (const [locale, zone] of [
      ['en-GB', 'Asia/Kolkata'],
      ['en-US', 'America/New_York'],
      ['de-AT', 'Europe/Vienna'],
    ] as const) {
      const { shown, at } = await read(locale, zone);
      const plain = (text: string): string => text.replace(/\s/g, ' ');
      assert.equal(plain(shown), plain(at.toLocaleTimeString(locale, { timeZone: zone })));
    }
  });

  test('gives the focus back when a dialog closes, also one that a menu opened, and goes on with it in a new page', async () => {
    const page = await world.open(`/tools/${bundleId(1)}`);
    const focused = () =>
      page.evaluate(`document.activeElement.getAttribute('aria-label') ?? document.activeElement.id`);
    const leave = async (): Promise<void> => {
      await page.getByRole('dialog').waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    };
    await page.getByRole('button', { name: 'More actions' }).press('Enter');
    await page.getByRole('menuitem', { name: 'Edit bundle' }).press('Enter');
    await leave();
    await comesToBe(focused, 'More actions');
    await page.keyboard.press('Control+k');
    await leave();
    await comesToBe(focused, 'More actions');
    await page.getByRole('button', { name: 'More actions' }).press('Enter');
    await page.getByRole('menuitem', { name: 'Edit bundle' }).press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.evaluate(`document.querySelector('[aria-label="More actions"]').remove()`);
    await leave();
    await comesToBe(focused, 'content');
    await page.getByRole('navigation', { name: 'Where this is' }).getByRole('link').press('Enter');
    await page.getByRole('heading', { name: 'Tools', exact: true }).waitFor();
    await comesToBe(focused, 'content');
    await page.context().close();
  });

  test('leaves the caret where one types, in a search that stands in the address', async () => {
    const page = await world.open('/tools');
    await page.getByRole('searchbox').focus();
    await page.keyboard.type('foo');
    await page.keyboard.press('Home');
    await page.keyboard.type('demo ');
    await comesToBe(() => page.getByRole('searchbox').inputValue(), 'demo foo');
    await page.getByRole('link', { name: 'Foo', exact: true }).waitFor();
    await page.context().close();
  });

  test('follows a change made elsewhere without being asked', async () => {
    const page = await world.open('/tools');
    await world.server.ask('PUT', `/tools/bundles/${bundleId(7)}`, {
      slug: 'fresh',
      displayName: 'Fresh from elsewhere',
      isEnabled: true,
    });
    await page.getByRole('link', { name: 'Fresh from elsewhere' }).waitFor();
    await page.context().close();
  });
});

test('nothing went wrong in any tab', () => assert.deepEqual(world.troubles, []));
