import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { askingAgentConfig } from './asking-agent.ts';
import { until } from '../kit/until.ts';
import { comesToBe, setting, type Setting } from './browser-kit.ts';

let world: Setting;
let page: Page;
before(async () => {
  world = await setting({ config: askingAgentConfig });
  page = await world.open('/chat');
});
after(() => world.close());

const message = () => page.getByRole('textbox', { name: 'Message', exact: true });
const search = () => page.getByPlaceholder('Type to find a tool');
const agentSays = (text: string) => page.locator('.bubble.agent', { hasText: text }).last().waitFor();

describe('a chat', () => {
  test('begins with a project made in one step, and the agent in its sandbox answers', async () => {
    await page.getByRole('button', { name: 'New project' }).click();
    await page.getByLabel('Project name').fill('Walk');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByText('Talk to the agent of Walk').waitFor();
    await message().fill('"sum: " + str(1 + 2)');
    await message().press('Enter');
    await agentSays('sum: 3');
    assert.match(page.url(), /\/chat\/ses_/);
    await comesToBe(() => page.title(), '"sum: " + str(1 + 2) · Oubliette');
    assert.equal(await page.locator('.bubble.user').count(), 1);
  });

  test('answers a question of the agent in place, also after a reload in mid-turn', async () => {
    await message().fill(
      '"you said " + web_ask_user(question="Which <b>colour</b>?", choices=["red", "blue"])["answer"]',
    );
    await message().press('Enter');
    await page.getByRole('button', { name: 'blue', exact: true }).waitFor();
    await page.reload();
    await page.locator('.ask .bubble', { hasText: 'Which <b>colour</b>?' }).waitFor();
    // What waits for an answer is told first, before what was said until then.
    await page.locator('.bubble.user').nth(1).waitFor();
    assert.equal(await page.locator('.bubble.user').count(), 2, 'nothing twice, nothing lost');
    await page.getByRole('button', { name: 'blue', exact: true }).click();
    await agentSays('you said blue');
    await page.locator('.ask.closed', { hasText: 'ask_user: answered' }).waitFor();
  });

  test('hands a picked file to the agent', async () => {
    await message().fill('"read: " + web_pick_file(prompt="A list")["text"]');
    await message().press('Enter');
    await page
      .locator('.ask input[type=file]')
      .setInputFiles({ name: 'list.txt', mimeType: 'text/plain', buffer: Buffer.from('milk and bread') });
    await agentSays('read: milk and bread');
  });

  test('shows calls of tools as cards with arguments and result', async () => {
    await message().fill('run(code="demo.foo(text=\'card\')")');
    await message().press('Enter');
    const card = page.locator('.tool-card', { hasText: 'demo.foo' }).last();
    await card.locator('.badge', { hasText: 'done' }).waitFor();
    await card.locator('summary').click();
    await card.locator('pre').first().waitFor();
  });

  test('can be stopped in the middle', async () => {
    await message().fill('web_ask_user(question="Never answered")');
    await message().press('Enter');
    await page.locator('.ask .bubble', { hasText: 'Never answered' }).waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.locator('.chat-head .badge', { hasText: 'idle' }).waitFor();
    const cards = page.locator('.tool-card', { hasText: 'Never answered' });
    await cards.locator('.badge.live').first().waitFor({ state: 'detached' });
  });

  test('does not flicker for people who asked for less motion', async () => {
    await message().fill('web_ask_user(question="Wait a moment")');
    await message().press('Enter');
    await page.locator('.chat-head .badge.live').waitFor();
    const counts = await page.evaluate(
      `document.getAnimations().map((each) => each.effect.getTiming().iterations).filter((count) => count > 1)`,
    );
    assert.deepEqual(counts, []);
    const repeats = `getComputedStyle(document.querySelector('.chat-head .badge.live'), '::before').animationIterationCount`;
    assert.equal(await page.evaluate(repeats), '1');
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.locator('.chat-head .badge', { hasText: 'idle' }).waitFor();
  });

  test('is reached from the others also on a narrow screen', async () => {
    const narrow = await world.open('/chat', { width: 390 });
    await narrow.locator('.chat-list a', { hasText: 'sum: ' }).click();
    await narrow.locator('.bubble.agent', { hasText: 'sum: 3' }).waitFor();
    // A phone that is turned stays at the newest.
    const behind = `(({ scrollHeight, clientHeight, scrollTop }) => Math.round(scrollHeight - clientHeight - scrollTop))(document.querySelector('.chat-scroll'))`;
    for (const size of [
      { width: 844, height: 390 },
      { width: 390, height: 600 },
    ]) {
      await narrow.setViewportSize(size);
      await comesToBe(() => narrow.evaluate(behind), 0);
    }
    await narrow.getByRole('link', { name: 'Conversations' }).click();
    await narrow.locator('.chat-list a', { hasText: 'sum: ' }).waitFor();
    await narrow.context().close();
  });

  test('that began elsewhere goes by its first words', async () => {
    const { projects } = (await world.server.call('project_list')).value;
    const { session_id } = (
      await world.server.call('session_spawn', {
        project_id: projects[0].id,
        message: `"From the  \n\n <i>command line</i> ${'and on '.repeat(50)}"`,
      })
    ).value;
    const entry = page.locator(`.chat-list a[href$="${session_id}"] .strong`);
    await entry.getByText('"From the <i>command line</i> and on and on', { exact: false }).waitFor();
    assert.ok((await entry.innerText()).length <= 80);
    await world.server.call('session_end', { session_id });
  });

  test('is ended only when that was confirmed, and a message takes it up again', async () => {
    const end = async (): Promise<void> => {
      await page.locator('.chat-head').getByRole('button', { name: 'More actions' }).click();
      await page.getByRole('menuitem', { name: 'End session' }).click();
    };
    await end();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await page.locator('.chat-head .badge', { hasText: 'idle' }).waitFor();
    await end();
    await page.getByRole('dialog').getByRole('button', { name: 'End session' }).click();
    await page.locator('.chat-head .badge', { hasText: 'ended' }).waitFor();
    await message().fill('"back" + " again"');
    await message().press('Enter');
    await agentSays('back again');
  });

  test('keeps what is typed and attached while a message is on its way', async () => {
    const held = Promise.withResolvers<void>();
    await page.route('**/call/session_message', async (route) => {
      await held.promise;
      await route.continue();
    });
    const attach = (name: string): Promise<void> =>
      page
        .getByLabel('Attach files')
        .setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from('some words') });
    await message().fill('"first" + " of two"');
    await message().press('Enter');
    await message().pressSequentially(' and more');
    await attach('late.txt');
    await page.locator('.composer .badge', { hasText: 'late.txt' }).waitFor();
    held.resolve();
    await agentSays('first of two');
    await comesToBe(() => message().inputValue(), 'and more');
    await page.unroute('**/call/session_message');
    await page.getByRole('button', { name: 'Remove late.txt' }).click();
    await attach('late.txt');
    await page.getByRole('button', { name: 'Remove late.txt' }).click();
    await message().fill('');
  });

  test('takes a message that was mended after a failed try as another one', async () => {
    await page.route(
      '**/call/session_message',
      async (route) => {
        await route.fetch();
        await route.abort();
      },
      { times: 1 },
    );
    await message().fill('"tried" + " once"');
    await message().press('Enter');
    await page.locator('.composer .note.bad', { hasText: 'cannot be reached' }).waitFor();
    await agentSays('tried once');
    await message().press('Enter');
    await comesToBe(() => message().inputValue(), '');
    await page.route('**/call/session_message', (route) => route.fetch().then(() => route.abort()), { times: 1 });
    await message().fill('"tried" + " twice"');
    await message().press('Enter');
    await page.locator('.composer .note.bad', { hasText: 'cannot be reached' }).waitFor();
    await message().fill('"tried" + " thrice"');
    await message().press('Enter');
    await agentSays('tried thrice');
    assert.equal(
      await page.locator('.bubble.user', { hasText: '" once"' }).count(),
      1,
      'the same twice is one message',
    );
  });

  test('sends nothing while a file for it is still on its way', async () => {
    let arrive = (): void => undefined;
    const held = new Promise<void>((resolve) => (arrive = resolve));
    await page.route('**/blobs', (route) => held.then(() => route.continue()), { times: 1 });
    await page
      .getByLabel('Attach files')
      .setInputFiles({ name: 'slow.txt', mimeType: 'text/plain', buffer: Buffer.from('slow') });
    await page.locator('.composer', { hasText: 'uploading' }).waitFor();
    await message().fill('"with " + "a file"');
    await message().press('Enter');
    assert.ok(await page.getByRole('button', { name: 'Send' }).isDisabled());
    arrive();
    await page.locator('.composer .badge', { hasText: 'slow.txt' }).waitFor();
    await comesToBe(() => message().inputValue(), '"with " + "a file"');
    await message().press('Enter');
    await page.locator('.bubble.user', { hasText: 'slow.txt' }).waitFor();
    await agentSays('with a file');
  });

  test('keeps a half-written message through a reload', async () => {
    await message().fill('half a thought');
    await page.reload();
    await message().waitFor();
    await comesToBe(() => message().inputValue(), 'half a thought');
    await message().fill('');
  });
});

describe('an agent of its own', () => {
  test('thinks, plans, calls and asks for permission in the chat', async () => {
    const project = await world.server.call('project_create', { name: 'Asker', agent: 'asker' });
    const chat = await world.open(`/chat?project=${project.value.id}`);
    await chat.getByText('Talk to the agent of Asker').waitFor();
    await chat.getByRole('textbox', { name: 'Message', exact: true }).fill('go');
    await chat.keyboard.press('Enter');
    await chat.getByRole('button', { name: 'Allow once' }).waitFor();
    await chat.getByText('Plan: 1 of 2 done').waitFor();
    await chat.locator('.fold', { hasText: 'The file must be read first.' }).first().waitFor();
    const card = chat.locator('.tool-card', { hasText: 'read notes.txt' });
    await card.locator('summary').click();
    await card.locator('pre', { hasText: '<b>two</b> lines' }).waitFor();
    await chat.getByRole('button', { name: 'Allow once' }).click();
    await chat.locator('.bubble.agent', { hasText: 'You chose yes.' }).waitFor();
    await chat.getByText('Plan: 2 of 2 done').waitFor();
    assert.equal(await chat.locator('.bubble.agent strong').innerText(), 'yes');
    await chat.context().close();
  });

  test('with a very long story shows the end of it first, and the rest above what one reads', async () => {
    const project = await world.server.call('project_create', { name: 'Long', agent: 'asker' });
    const { session_id } = (
      await world.server.call('session_spawn', { project_id: project.value.id, message: 'call 1600 tools' })
    ).value;
    await until(async () => (await world.server.call('session_get', { session_id })).value.status === 'idle', 60_000);
    const chat = await world.open(`/chat/${session_id}`);
    await chat.locator('summary', { hasText: /^tool 1600/ }).waitFor();
    const earlier = chat.locator('button', { hasText: 'Show earlier' });
    await earlier.scrollIntoViewIfNeeded();
    const read = await chat.locator('.tool-card summary code').first().innerText();
    await earlier.click();
    await chat.locator('.bubble.user', { hasText: 'call 1600 tools' }).waitFor();
    const place = await chat.locator('summary', { hasText: new RegExp(`^${read}\\b`) }).boundingBox();
    assert.ok(place && place.y > 0 && place.y < 900, `${read} is still in view, at ${place?.y}`);
    await chat.context().close();
  });
});

describe('the palette', () => {
  test('opens by a plus, finds by typing, fills the form and puts the result into the chat, by keyboard alone', async () => {
    await message().focus();
    await page.keyboard.type('+');
    await search().waitFor();
    await page.keyboard.type('foo');
    const first = page.locator('[cmdk-item][data-selected=true]');
    await first.filter({ hasText: '+foo' }).waitFor();
    assert.match(await first.innerText(), /demo · v1/);
    await page.keyboard.press('Enter');
    // The palette's own box has the focus until the form is there.
    await page.getByRole('dialog').getByRole('heading', { name: 'Foo', exact: true }).waitFor();
    await page.getByRole('dialog').locator('input:focus').waitFor();
    await page.keyboard.type('by keys');
    await page.keyboard.press('Enter');
    await page.locator('.tool-card', { hasText: 'only you see this' }).waitFor();
    await page.reload();
    await page.locator('.tool-card', { hasText: 'only you see this' }).waitFor();
  });

  test('opens what was typed, not what is still listed, when Enter comes before the answer', async () => {
    let answer = (): void => undefined;
    const held = new Promise<void>((resolve) => (answer = resolve));
    await page.route('**/tools/tools/search?*', async (route) => {
      await held;
      await route.continue();
    });
    await page.keyboard.press('Control+k');
    await page.locator('[cmdk-item]').first().waitFor();
    await page.keyboard.type('bar');
    await page.keyboard.press('Enter');
    answer();
    await page.getByRole('dialog').getByRole('heading', { name: 'Bar', exact: true }).waitFor();
    await page.unroute('**/tools/tools/search?*');
    await page.keyboard.press('Escape');
  });

  test('puts a result into the message instead', async () => {
    await message().focus();
    await page.keyboard.type('colour: ');
    await page.keyboard.type('+');
    await search().fill('foo');
    await page.locator('[cmdk-item]', { hasText: '+foo' }).first().click();
    await page.getByRole('dialog').getByLabel('text').fill('x');
    await page.getByRole('button', { name: 'Into the message' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.match(await message().inputValue(), /^colour: \w+/);
    await message().fill('');
  });

  test('is only a plus in code and when one leaves it', async () => {
    await message().fill('```\nx = ');
    await message().press('End');
    await page.keyboard.type('+');
    assert.match(await message().inputValue(), /\+$/);
    await message().fill('');
    await page.keyboard.type('+');
    await search().waitFor();
    await page.keyboard.press('Escape');
    await search().waitFor({ state: 'detached' });
    await comesToBe(() => message().inputValue(), '+');
    await message().fill('');
  });

  test('says so when a tool was switched off since it was listed', async () => {
    const { body } = await world.server.ask('GET', '/tools/tools/search?q=bar');
    const tool = body.tools.find((each: { name: string }) => each.name === 'demo_bar');
    await page.keyboard.press('Control+k');
    await search().fill('bar');
    await page.locator('[cmdk-item]', { hasText: '+bar' }).first().click();
    await page.getByRole('dialog').getByLabel('text').fill('late');
    await world.server.ask('PATCH', `/tools/bundles/${tool.bundleID}/tools/bar/version/${tool.version}`, {
      isEnabled: false,
    });
    await page.getByRole('dialog').getByLabel('text').press('Enter');
    await page.getByRole('dialog').locator('.note.bad', { hasText: 'disabled' }).waitFor();
    assert.equal(await page.getByRole('dialog').getByLabel('text').inputValue(), 'late');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    await search().fill('bar');
    await page.getByText('No tool that is switched on matches').waitFor();
    await page.keyboard.press('Escape');
  });
});

test('nothing went wrong in any tab', () => assert.deepEqual(world.troubles, []));
