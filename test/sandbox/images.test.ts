import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import { extract, pack } from 'tar-stream';
import { readRecipe } from '../../src/sandbox/bubblewrap/dockerfile.ts';
import { imageContext } from '../../src/sandbox/image-context.ts';
import { insidePaths } from '../../src/schema/index.ts';
import type { SandboxDriver } from '../../src/sandbox/index.ts';
import { openTestDriver, testDrivers, type TestDriver } from '../kit/sandboxes.ts';

const drivers = await testDrivers();

function context(files: Record<string, string>): Readable {
  const tar = pack();
  for (const [name, text] of Object.entries(files)) tar.entry({ name }, text);
  tar.finalize();
  return Readable.from(tar);
}

for (const name of drivers)
  describe(`images with ${name}`, () => {
    let kit: TestDriver;
    let driver: SandboxDriver;
    /** An engine says what is wrong in its own words; without one we do. */
    const refused = (ours: string): string => (name === 'bubblewrap' ? ours : 'sandbox.failed');
    before(async () => {
      kit = await openTestDriver(name);
      driver = kit.driver;
      await driver.buildBase();
    });
    after(() => kit.close());

    test('a project image is built from a Dockerfile on the base and used', async () => {
      const dockerfile = 'FROM oubliette-base\nCOPY greeting /greeting\nENV COLOUR=blue\n';
      const { image } = await driver.buildImage(
        'oubliette-test:1',
        context({ Dockerfile: dockerfile, greeting: 'hello' }),
      );
      assert.equal(await driver.hasImage(image), true);
      const spec = await kit.spec({ image });
      await driver.start(spec);
      const { stdout } = await driver.exec(spec.id, {
        command: ['/bin/sh', '-c', 'cat /greeting; echo $COLOUR; touch /x || echo closed'],
        timeoutMs: 60_000,
        maxBytes: 1000,
      });
      assert.equal(stdout, 'helloblue\nclosed\n');
      await driver.remove(spec.id);
    });

    test('a broken Dockerfile is refused with what the engine said', async () => {
      await assert.rejects(
        driver.buildImage('oubliette-broken:1', context({ Dockerfile: 'FROM oubliette-base\nFROMAGE blue\n' })),
        { code: refused('not_supported'), message: /FROMAGE/i },
      );
      await assert.rejects(
        driver.buildImage('oubliette-broken:1', context({ Dockerfile: 'FROM oubliette-base\nCOPY missing /x\n' })),
        { code: refused('request.invalid'), message: /missing/ },
      );
      await assert.rejects(driver.buildImage('oubliette-broken:1', context({ readme: 'no Dockerfile' })), {
        code: refused('request.invalid'),
      });
      await assert.rejects(driver.buildImage('oubliette-broken:1', Readable.from([Buffer.from('this is no tar')])), {
        code: refused('request.invalid'),
      });
      assert.equal(await driver.hasImage('oubliette-broken:1'), false);
    });

    test('building an image again leaves the base as it was', async () => {
      const files = {
        Dockerfile: 'FROM oubliette-base\nCOPY evil /opt/oubliette/supervisor.js\n',
        evil: 'process.exit(9)',
      };
      await driver.buildImage('oubliette-evil:1', context(files));
      const spec = await kit.spec();
      await driver.start(spec);
      const { stdout } = await driver.exec(spec.id, {
        command: ['/bin/cat', insidePaths.supervisor],
        timeoutMs: 60_000,
        maxBytes: 100_000,
      });
      assert.ok(stdout.length > 1000 && !stdout.includes('process.exit(9)'));
      await driver.remove(spec.id);
    });
  });

test('a Dockerfile for bubblewrap is read line by line', () => {
  const recipe = readRecipe(
    '# comment\nFROM oubliette-base:latest\n\nCOPY --chmod=755 a b \\\n  /opt/x/\nENV A=1 B="two words"\nENV C three words\nLABEL x=y\n',
  );
  assert.deepEqual(recipe, {
    copies: [{ from: ['a', 'b'], to: '/opt/x/', mode: 0o755 }],
    env: { A: '1', B: 'two words', C: 'three words' },
  });
  for (const [text, reason] of [
    ['', /empty/],
    ['FROM debian', /line 1: .*FROM oubliette-base/],
    ['COPY a b', /line 1: the first instruction/],
    ['FROM oubliette-base\nCOPY a', /line 2: COPY needs/],
    ['FROM oubliette-base\nRUN rm -rf /', /RUN in a Dockerfile \(line 2\)/],
  ] as const)
    assert.throws(() => readRecipe(text), reason);
});

test('a folder is sent as it is, links as links, without what is ignored', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'oub-context-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await assert.rejects(imageContext(folder), { code: 'request.invalid', message: /no Dockerfile/ });
  await mkdir(join(folder, 'sub'));
  for (const name of ['Dockerfile', 'sub/kept', 'sub/cache.log', 'secret']) await writeFile(join(folder, name), name);
  await symlink('/etc/passwd', join(folder, 'link'));
  await writeFile(join(folder, '.dockerignore'), '# not these\n**/*.log\n/secret\n');
  const seen = new Map<string, string>();
  for await (const entry of (await imageContext(folder)).pipe(extract())) {
    const parts: Buffer[] = [];
    for await (const part of entry) parts.push(part as Buffer);
    seen.set(entry.header.name, entry.header.linkname || Buffer.concat(parts).toString());
  }
  assert.deepEqual([...seen.keys()].sort(), ['.dockerignore', 'Dockerfile', 'link', 'sub', 'sub/kept'].sort());
  assert.deepEqual([seen.get('link'), seen.get('sub/kept')], ['/etc/passwd', 'sub/kept']);
  assert.equal(await readFile(join(folder, 'secret'), 'utf8'), 'secret');
});
