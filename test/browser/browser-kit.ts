import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { chromium, type Browser, type Page } from 'playwright-core';
import { testServer, type TestServer } from '../kit/server.ts';
import { until } from '../kit/until.ts';

const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const root = join(import.meta.dirname, '..', '..');

export interface Setting {
  server: TestServer;
  browser: Browser;
  /** A new signed-in tab of a browser profile of its own. */
  open(path?: string, options?: { width?: number; theme?: 'light' | 'dark'; language?: 'en' | 'de' }): Promise<Page>;
  /** What went wrong in any tab: script errors and refusals of the Content-Security-Policy. */
  troubles: string[];
  close(): Promise<void>;
}

/** A real server on a home of its own and a real browser, both closed by `close`. */
export async function setting(options: Parameters<typeof testServer>[0] = {}): Promise<Setting> {
  const executablePath = places.find((path) => existsSync(path));
  if (!executablePath) throw new Error(`no browser at ${places.join(', ')}; npm test installs it on Debian`);
  const server = await testServer(options);
  const browser = await chromium.launch({ executablePath, args: flags });
  const troubles: string[] = [];
  return {
    server,
    browser,
    troubles,
    async open(path = '/', { width = 1280, theme = 'light', language = 'en' } = {}) {
      const context = await browser.newContext({
        viewport: { width, height: 900 },
        colorScheme: theme,
        reducedMotion: 'reduce',
        locale: language === 'de' ? 'de-DE' : 'en-GB',
        permissions: ['clipboard-read', 'clipboard-write'],
      });
      const page = await context.newPage();
      page.setDefaultTimeout(60_000);
      page.on('pageerror', (error) => troubles.push(error.message));
      page.on('console', (message) => {
        if (/Content Security Policy|Maximum update depth|unique "key"/.test(message.text()))
          troubles.push(message.text());
      });
      await page.goto(await signInLink(server));
      await page.locator('.app').waitFor();
      if (path !== '/') await page.goto(`${server.url}/app${path}`);
      await page.locator('.app').waitFor();
      return page;
    },
    async close() {
      await browser.close();
      await endSessions(server);
      await server.remove();
    },
  };
}

/** A page shows things one after the other: what is read from it is read until it is as expected. */
export async function comesToBe(read: () => Promise<unknown>, expected: unknown): Promise<void> {
  await until(async () => isDeepStrictEqual(await read(), expected)).catch(async () =>
    assert.deepEqual(await read(), expected),
  );
}

/** A server that stops leaves its sandboxes for the next one; here there is none. */
async function endSessions(server: TestServer): Promise<void> {
  const listed = await server.call('session_list');
  for (const { id } of listed?.value?.sessions ?? []) await server.call('session_end', { session_id: id });
}

export async function signInLink(server: TestServer): Promise<string> {
  const { body } = await server.ask('POST', '/auth/link', {});
  return body.signInUrl;
}

/** A UUIDv7 that differs by its last digits. */
export const bundleId = (number: number): string => `0198c0de-0000-7000-8000-${String(number).padStart(12, '0')}`;

/** Violations that axe finds on the page, as readable lines. */
export async function axeFindings(page: Page): Promise<string[]> {
  await page.evaluate(await axeSource());
  const found = (await page.evaluate(
    `axe.run(document, { resultTypes: ['violations'], rules: { 'color-contrast': { enabled: true } } }).then(({ violations }) =>
      violations.map((each) => each.id + ': ' + each.nodes.slice(0, 3).map((node) => node.target.join(' ') + ' ' + node.html.slice(0, 160) + ' ' + (node.any[0]?.message ?? '')).join(' | ')))`,
  )) as string[];
  return found;
}

let axeText: string | undefined;
async function axeSource(): Promise<string> {
  axeText ??= await readFile(join(root, 'node_modules', 'axe-core', 'axe.min.js'), 'utf8');
  return axeText;
}

export async function screenshotFolder(): Promise<string> {
  const folder = join(root, 'test', 'screenshots');
  await mkdir(folder, { recursive: true });
  return folder;
}
