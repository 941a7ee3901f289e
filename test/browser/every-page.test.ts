import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { askingAgentConfig } from './asking-agent.ts';
import { axeFindings, screenshotFolder, setting, type Setting } from './browser-kit.ts';
import { furnish, type Furniture } from './furnish.ts';

const widths = [1440, 900, 390];
const config = `${askingAgentConfig}
allowedHosts: ["127.0.0.1"]
aliases: { colour: demo.foo }
snippets: { twice: { description: Call it twice, params: { word: { example: hi } }, body: 'demo.foo(text="{{ word }}")' } }
`;

let world: Setting;
let furniture: Furniture;
before(async () => {
  world = await setting({ config });
  furniture = await furnish(world.server);
});
after(() => world.close());

const pages = (): [name: string, path: string][] => [
  ['home', '/'],
  ['tools', '/tools'],
  ['tools-search', '/tools?q=foo'],
  ['bundle', `/tools/${furniture.bundleID}`],
  ['tool', `/tools/${furniture.bundleID}/weather/v1`],
  ['tool-new', `/tools/${furniture.bundleID}/new`],
  ['tool-edit', `/tools/${furniture.bundleID}/weather/v1/edit`],
  ['import', '/tools/import'],
  ['import-openapi', '/tools/import?from=openapi'],
  ['chat-new', '/chat'],
  ['chat', `/chat/${furniture.sessionId}`],
  ['chat-asking', `/chat/${furniture.askingId}`],
  ['session', `/sessions/${furniture.sessionId}`],
  ['console', '/console'],
  ['sessions', '/sessions'],
  ['servers', '/servers'],
  ['stats', '/stats'],
  ['tokens', '/tokens'],
  ['secrets', '/secrets'],
  ['settings', '/settings'],
  ['health', '/health'],
  ['nowhere', '/no/such/page'],
];

const overlays = (): [name: string, path: string, open: (page: Page) => Promise<void>][] => [
  [
    'palette',
    '/tools',
    async (page) => {
      await page.keyboard.press('Control+k');
      await page.getByPlaceholder('Type to find a tool').fill('we');
      await page.locator('[cmdk-item]').first().waitFor();
    },
  ],
  ['dialog-bundle', '/tools', (page) => page.getByRole('button', { name: 'New bundle' }).click()],
  ['dialog-token', '/tokens', (page) => page.getByRole('button', { name: 'New token' }).click()],
  ['dialog-secret', '/secrets', (page) => page.getByRole('button', { name: 'New secret' }).click()],
];

describe('every page', { concurrency: true }, () => {
  for (const theme of ['light', 'dark'] as const)
    test(`has nothing that axe objects to and is drawn at three widths in the ${theme} theme`, async () => {
      const folder = await screenshotFolder();
      const page = await world.open('/', { theme });
      const findings: string[] = [];
      for (const [name, path] of pages()) {
        await page.setViewportSize({ width: widths[0]!, height: 900 });
        await page.goto(`${world.server.url}/app${path}`);
        await page.locator('h1').first().waitFor();
        await page
          .locator('.skeleton')
          .first()
          .waitFor({ state: 'detached', timeout: 60_000 })
          .catch(() => findings.push(`${name}: still loading`));
        findings.push(...(await axeFindings(page)).map((finding) => `${name} (${theme}): ${finding}`));
        for (const width of widths) {
          await page.setViewportSize({ width, height: 900 });
          const wider = (await page.evaluate(
            'document.documentElement.scrollWidth - document.documentElement.clientWidth',
          )) as number;
          if (wider > 0) findings.push(`${name} at ${width}: scrolls sideways by ${wider}px`);
          // The whole page in view, because editors measure themselves only where they are seen.
          const height = name.startsWith('chat')
            ? 900
            : Math.min(4_000, Number(await page.evaluate('document.documentElement.scrollHeight')));
          await page.setViewportSize({ width, height: Math.max(900, height) });
          await page.screenshot({ path: join(folder, `${name}-${width}-${theme}.png`) });
        }
      }
      for (const [name, path, openIt] of overlays()) {
        await page.setViewportSize({ width: widths[0]!, height: 900 });
        await page.goto(`${world.server.url}/app${path}`);
        await page.locator('h1').first().waitFor();
        await openIt(page);
        await page.getByRole('dialog').waitFor();
        findings.push(...(await axeFindings(page)).map((finding) => `${name} (${theme}): ${finding}`));
        for (const width of widths) {
          await page.setViewportSize({ width, height: 900 });
          await page.screenshot({ path: join(folder, `${name}-${width}-${theme}.png`) });
        }
      }
      await page.context().close();
      assert.equal(findings.join('\n'), '');
      assert.deepEqual(world.troubles, []);
    });
});
