import assert from 'node:assert/strict';
import { once, EventEmitter } from 'node:events';
import { writeFileSync } from 'node:fs';
import { lstat, mkdir, open as openFile, readFile, readdir, rename, rmdir, symlink, writeFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { patient } from '../../test/kit/patience.ts';
import { until } from '../../test/kit/until.ts';
import { configFolder } from './fixtures/config-folder.ts';
import { openConfig, type ConfigRoom } from './index.ts';

const { at, put, open } = configFolder();

async function changed(room: ConfigRoom): Promise<void> {
  const events = new EventEmitter();
  room.onChange(() => events.emit('changed'));
  await once(events, 'changed', { signal: AbortSignal.timeout(60_000) });
}

async function reported(room: ConfigRoom): Promise<void> {
  const events = new EventEmitter();
  room.onReport(() => events.emit('report'));
  await once(events, 'report', { signal: AbortSignal.timeout(60_000) });
}

describe('watching', () => {
  test('a change by hand is taken over within two seconds, also by rename', async () => {
    const room = await open();
    const first = changed(room);
    const startedAt = performance.now();
    await put('config.yaml', 'aliases: { a: b.c }\n');
    await first;
    assert.ok(performance.now() - startedAt < patient(2000));
    assert.deepEqual(room.current().aliases, { a: 'b.c' });
    const second = changed(room);
    await put('config.yaml~', 'aliases: { a: d.e }\n');
    await rename(at('config.yaml~'), at('config.yaml'));
    await second;
    assert.deepEqual(room.current().aliases, { a: 'd.e' });
  });

  test('a file that is still being written is not taken for an empty one', async () => {
    await put('config.yaml', 'aliases: { a: b.c }\n');
    const room = await open();
    const seen: unknown[] = [];
    room.onChange((settings) => seen.push(settings.aliases));
    const last = Promise.withResolvers<void>();
    room.onChange((settings) => settings.aliases['a'] === 'd.end' && last.resolve());
    // Empty most of the time, but never for long: whoever looks once is fooled.
    let emptyMs = 0;
    for (let i = 0; i < 100; i++) {
      const emptiedAt = performance.now();
      const file = await openFile(at('config.yaml'), 'w');
      await sleep(25);
      await file.writeFile(`aliases: { a: ${i === 99 ? 'd.end' : `b.c${i}`} }\n`);
      await file.close();
      emptyMs = Math.max(emptyMs, performance.now() - emptiedAt);
    }
    await last.promise;
    // A machine that stood still for longer than anyone looks away did leave it empty.
    assert.ok(
      emptyMs > 90 || !seen.some((aliases) => Object.keys(aliases as object).length === 0),
      JSON.stringify(seen),
    );
  });

  test('a changed include and changed prompts are seen', async () => {
    await put('team.yaml', 'aliases: { a: b.c }\n');
    await put('config.yaml', 'include: [team.yaml]\n');
    const room = await open();
    const first = changed(room);
    await put('team.yaml', 'aliases: { a: x.y }\n');
    await first;
    assert.equal(room.current().aliases['a'], 'x.y');
    const second = changed(room);
    await put('prompts.yaml', 'packs: { demo: hello }\n');
    await second;
    assert.deepEqual(room.current().prompts, { demo: 'hello' });
  });

  test('what is written while the file is read is seen as well', async () => {
    const attempt = async (turns: number): Promise<void> => {
      const config = at(`config-${turns}.yaml`);
      await writeFile(config, 'aliases: { a: b.c }\n');
      const room = await openConfig({ config, prompts: at('prompts.yaml'), run: at('.') });
      try {
        const reading = room.reload();
        for (let i = 0; i < turns; i++) await nextTurn();
        writeFileSync(config, 'aliases: { a: d.e }\n');
        await reading;
        await until(() => room.current().aliases['a'] === 'd.e');
      } finally {
        room.close();
      }
    };
    await Promise.all(Array.from({ length: 60 }, (_, turns) => attempt(turns)));
  });

  test('a broken file keeps the old settings, is reported once, and heals', async () => {
    await put('config.yaml', 'aliases: { a: b.c }\n');
    const room = await open();
    const before = room.current();
    const first = reported(room);
    await put('config.yaml', 'aliases: { a: b.c\n');
    await first;
    assert.equal(room.current(), before);
    assert.equal(room.report().ok, false);
    assert.match(room.report().errors[0] ?? '', /config\.yaml:\d+: /);
    const again = await room.reload();
    assert.equal(again.ok, false);
    const second = reported(room);
    await put('config.yaml', 'aliases: { a: z.z }\n');
    await second;
    assert.deepEqual(room.report(), { ok: true, errors: [] });
    assert.equal(room.current().aliases['a'], 'z.z');
  });

  test('an include that could not even be read is waited for', async () => {
    const room = await open();
    const first = reported(room);
    await mkdir(at('team.yaml'));
    await put('config.yaml', 'include: [team.yaml]\n');
    await first;
    assert.match(room.report().errors.join(), /team\.yaml:1: this is not a regular file/);
    const second = changed(room);
    await rmdir(at('team.yaml'));
    await put('team.yaml', 'aliases: { a: b.c }\n');
    await second;
    assert.deepEqual(room.current().aliases, { a: 'b.c' });
  });

  test('half of a change is never taken over when the other file is broken', async () => {
    const room = await open();
    await put('config.yaml', 'aliases: { a: b.c }\n');
    await put('prompts.yaml', 'packs: [\n');
    const report = await room.reload();
    assert.equal(report.ok, false);
    assert.deepEqual(room.current().aliases, {});
  });

  test('reload answers with what is on disk', async () => {
    const room = await open();
    await put('config.yaml', 'aliases: { a: b.c }\n');
    assert.deepEqual(await room.reload(), { ok: true, errors: [] });
    assert.equal(room.current().aliases['a'], 'b.c');
  });
});

describe('editing', () => {
  test('keeps comments and order, and is taken over at once', async () => {
    await put('config.yaml', '# top\n\naliases:\n  # why a\n  a: b.c # beside\nfs: { root: /srv }\n');
    const room = await open();
    await room.edit(['aliases', 'new'], 'x.y');
    await room.edit(['output', 'previewLines'], 3);
    await room.edit(['fs', 'root'], undefined);
    const text = await readFile(at('config.yaml'), 'utf8');
    for (const comment of ['# top', '# why a', '# beside']) assert.ok(text.includes(comment), text);
    assert.equal(room.current().aliases['new'], 'x.y');
    assert.equal(room.current().output.previewLines, 3);
    assert.equal(room.current().fs.root, undefined);
    assert.ok(!(await readdir(at('.'))).some((name) => name.endsWith('.tmp')));
  });

  test('removing a value takes its own lines, and no comment above or behind them', async () => {
    const [top, limits, rest] = [
      '# top\n',
      '# how deep\n',
      '\n# short names\naliases:   { a: b.c }   # beside\n# end\n',
    ];
    await put('config.yaml', `${top}version: 1 # one\n${limits}limits:\n  depth: 2\n  agents: 3\n${rest}`);
    const room = await open();
    await room.edit(['version'], undefined);
    await room.edit(['limits', 'agents'], undefined);
    assert.equal(await readFile(at('config.yaml'), 'utf8'), `${top}${limits}limits:\n  depth: 2\n${rest}`);
    await room.edit(['limits'], undefined);
    assert.equal(await readFile(at('config.yaml'), 'utf8'), `${top}${limits}${rest}`);
    assert.equal(room.current().limits.depth, 3);
    await room.edit(['aliases'], undefined);
    assert.equal(await readFile(at('config.yaml'), 'utf8'), `${top}${limits}\n# short names\n# end\n`);
  });

  for (const text of ['# all of it\n# is a comment\n', 'limits: { agents: 3 } # few\n', 'limits: # none\n'])
    test(`removing a value that is not there leaves the file as it is: ${JSON.stringify(text)}`, async () => {
      await put('config.yaml', text);
      const room = await open();
      await room.edit(['limits', 'depth'], undefined);
      assert.equal(await readFile(at('config.yaml'), 'utf8'), text);
      assert.equal(room.current().limits.depth, 3);
    });

  for (const [what, text, path, left] of [
    [
      'a text over several lines',
      'aliases:\n  a: |-\n    b\n  # of c\n  c: d.e\n',
      ['aliases', 'a'],
      'aliases:\n  # of c\n  c: d.e\n',
    ],
    ['a flow map', 'aliases: { a: b.c, d: e.f }\n', ['aliases', 'a'], 'aliases: { d: e.f }\n'],
    ['the only one of a section', '# x\naliases:\n  a: b.c\n', ['aliases', 'a'], '# x\naliases: {}\n'],
    ['the last line without its end', 'version: 1\naliases: {}', ['aliases'], 'version: 1\n'],
  ] as const)
    test(`a value that is ${what} can be removed`, async () => {
      await put('config.yaml', text);
      const room = await open();
      await room.edit(path, undefined);
      assert.equal(await readFile(at('config.yaml'), 'utf8'), left);
    });

  test('a file with line ends of Windows keeps them, and a link to a file stays one', async () => {
    await put('elsewhere.yaml', '# top\r\naliases:\r\n  a: b.c\r\n');
    await symlink(at('elsewhere.yaml'), at('config.yaml'));
    const room = await open();
    await room.edit(['aliases', 'b'], 'd.e');
    assert.ok((await lstat(at('config.yaml'))).isSymbolicLink());
    const text = '# top\r\naliases:\r\n  a: b.c\r\n  b: d.e\r\n';
    assert.equal(await readFile(at('elsewhere.yaml'), 'utf8'), text);
  });

  test('works on the commented example and on an empty section', async () => {
    const room = await open();
    const before = (await readFile(at('config.yaml'), 'utf8')).trim();
    await room.edit(['aliases', 'a'], 'b.c');
    const text = await readFile(at('config.yaml'), 'utf8');
    assert.ok(text.includes(before), text);
    assert.equal(room.current().aliases['a'], 'b.c');
    await put('config.yaml', 'aliases:\n# nothing yet\n');
    await room.edit(['aliases', 'a'], 'd.e');
    assert.equal(room.current().aliases['a'], 'd.e');
    assert.ok((await readFile(at('config.yaml'), 'utf8')).includes('# nothing yet'));
  });

  test('an edit that would break the configuration is refused and leaves the bytes alone', async () => {
    await put('config.yaml', 'aliases: {   a:   b.c }\n');
    const room = await open();
    await assert.rejects(
      room.edit(['output', 'previewLines'], 'many'),
      /config\.yaml:\d+: "output\.previewLines" must be a whole number/,
    );
    await assert.rejects(room.edit(['nonsense'], 1), /unknown key "nonsense"/);
    await assert.rejects(room.edit(['aliases', 'a', 'b'], 1), /aliases\.a is a plain value/);
    await assert.rejects(room.edit(['__proto__', 'x'], 1), /path of a setting/);
    await assert.rejects(room.edit([], 1), /path of a setting/);
    assert.equal(await readFile(at('config.yaml'), 'utf8'), 'aliases: {   a:   b.c }\n');
  });

  test('deleting what an included file sets is refused', async () => {
    await put('team.yaml', 'fs: { root: /srv }\n');
    await put('config.yaml', 'include: [team.yaml]\nfs: { root: /own }\n');
    const room = await open();
    await assert.rejects(room.edit(['fs', 'root'], undefined), /set in an included file/);
  });

  test('deleting what is no setting is refused with the nearest name; one that has its default stays as it is', async () => {
    const text = 'aliases: {   docs:   b.c }\nagents: { mine: { driver: embedded } }\nallowedHosts: [a.example]\n';
    await put('config.yaml', text);
    const room = await open();
    for (const [path, message] of [
      [['nope'], /there is no setting nope\. Known here: version, include, .*, retention\.$/],
      [['prompts'], /there is no setting prompts\./],
      [['limits', 'dpeth'], /there is no setting limits\.dpeth\. Did you mean limits\.depth\?/],
      [['limits', 'depth', 'x'], /there is no setting limits\.depth\.x\. Known here: nothing\./],
      [['aliases', 'dosc'], /there is no setting aliases\.dosc\. Did you mean aliases\.docs\?/],
      [['agents', 'mine', 'modle'], /there is no setting agents\.mine\.modle\. Did you mean agents\.mine\.model\?/],
      [['allowedHosts', 1], /there is no setting allowedHosts\.1\. Known here: 0\./],
    ] as const)
      await assert.rejects(room.edit(path, undefined), message);
    for (const path of [
      ['limits', 'depth'],
      ['http', 'publicUrl'],
      ['servers'],
      ['agents', 'default'],
      ['agents', 'mine', 'model'],
    ])
      await room.edit(path, undefined);
    assert.equal(await readFile(at('config.yaml'), 'utf8'), text);
  });

  test('deleting an unknown key that stands in a broken file mends it', async () => {
    const room = await open();
    await put('config.yaml', 'version: 1\nnope: 1\n');
    await room.edit(['nope'], undefined);
    assert.equal(await readFile(at('config.yaml'), 'utf8'), 'version: 1\n');
  });

  test('many edits at once all arrive', async () => {
    const room = await open();
    await Promise.all(Array.from({ length: 20 }, (_, i) => room.edit(['aliases', `a${i}`], 'b.c')));
    assert.equal(Object.keys(room.current().aliases).length, 20);
  });

  test('edits of several servers at once all arrive', async () => {
    const rooms = [await open(), await open(), await open()];
    await Promise.all(
      rooms.flatMap((room, server) =>
        Array.from({ length: 10 }, (_, i) => room.edit(['aliases', `a${server}_${i}`], 'b.c')),
      ),
    );
    const last = await open();
    assert.equal(Object.keys(last.current().aliases).length, 30);
  });
});
