import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../test/kit/fast-check.ts';
import { strToU8, zipSync, type Zippable } from 'fflate';
import { unzipBundles, zipBundles, zipToSend } from './bundle-zip.ts';

const manifest = strToU8('{"format":1}');
const bundle = { id: '0198c0de-0000-7000-8000-000000000001', slug: 'first', displayName: 'First', isEnabled: true };
const tool = { slug: 'shade', version: 'v1.0', displayName: 'Shade', isEnabled: true, type: 'function', argSchema: {} };
const unzipAll = async (bytes: Uint8Array) =>
  (await unzipBundles(bytes)).map(({ bundle, tools }) => ({ bundle, tools: [...tools] }));
const refused = (files: Zippable | Uint8Array, message: RegExp) =>
  assert.rejects(unzipAll(files instanceof Uint8Array ? files : zipSync(files)), {
    code: 'import.invalid',
    message,
  });

test('what is packed comes back as it was, whatever the slugs', async () => {
  const packed = [
    { bundle, tools: [tool, { ...tool, version: 'v2' }] },
    {
      bundle: { ...bundle, id: '0198c0de-0000-7000-8000-000000000002', slug: '漢字'.repeat(32) },
      tools: [{ ...tool, slug: '𝒳'.repeat(64) }],
    },
  ];
  for (const zip of [zipBundles, zipToSend]) assert.deepEqual(await unzipAll(await zip(packed)), packed);
});

test('paths that could lead elsewhere are refused', async () => {
  for (const path of [
    '../evil.json',
    '/etc/passwd',
    'a/../../b/bundle.json',
    'a\\bundle.json',
    './bundle.json',
    'a//bundle.json',
  ])
    await refused({ 'oubliette.json': manifest, [path]: strToU8('{}') }, /unsafe path|neither a bundle nor a tool/);
});

test('servers, packs, tokens and secrets cannot be carried', async () => {
  for (const path of ['config.yaml', 'packs/evil.ts', 'admin.token', 'state.db', 'first/secret.key'])
    await refused({ 'oubliette.json': manifest, [path]: strToU8('x') }, /neither a bundle nor a tool/);
});

test('a tool is not taken in with another integer than stands there', async () => {
  const text = JSON.stringify({ ...tool, argSchema: { const: 'here' } }).replace('"here"', '9007199254740993');
  const files = { 'oubliette.json': manifest, 'first/bundle.json': strToU8(JSON.stringify(bundle)) };
  const place = /in first\/tools\/shade\/v1\.0\.json, \/argSchema\/const is 9007199254740993, an integer too long/;
  await refused({ ...files, 'first/tools/shade/v1.0.json': strToU8(text) }, place);
});

test('bombs are stopped while they unpack', async () => {
  const bomb = new Uint8Array(64 * 2 ** 20);
  await refused({ 'oubliette.json': manifest, 'first/bundle.json': bomb }, /larger than 16777216 bytes/);
});

/** The same file with each entry of its list changed: `entry` begins where it does. */
function relisted(files: Zippable, change: (entry: Buffer) => void): Buffer {
  const zip = Buffer.from(zipSync(files, { level: 0 }));
  for (let at = zip.indexOf('PK\x01\x02', 0, 'latin1'); at !== -1; at = zip.indexOf('PK\x01\x02', at + 1, 'latin1'))
    change(zip.subarray(at));
  return zip;
}

test('files that are too large only together are refused', async () => {
  const files: Zippable = { 'oubliette.json': manifest, 'b/bundle.json': strToU8(JSON.stringify(bundle)) };
  for (let i = 0; i < 70; i++) files[`b/tools/t/${i}.json`] = manifest;
  await refused(
    relisted(files, (entry) => void entry.writeUInt32LE(16 * 2 ** 20, 24)),
    /unpacks to more than 268435456 bytes/,
  );
});

test('a file that is there twice, or is no text, is refused', async () => {
  const own = strToU8(JSON.stringify(bundle));
  const twice = relisted({ 'oubliette.json': manifest, 'a/bundle.json': own, 'b/bundle.json': own }, (entry) => {
    if (entry.toString('latin1', 46, 59) === 'b/bundle.json') entry.write('a', 46);
  });
  await refused(twice, /"a\/bundle\.json" twice/);
  const broken = Buffer.from(JSON.stringify({ ...bundle, displayName: '\xe9' }), 'latin1');
  await refused({ 'oubliette.json': manifest, 'a/bundle.json': broken }, /is not JSON/);
});

test('too many files are refused', async () => {
  const files: Zippable = { 'oubliette.json': manifest };
  for (let i = 0; i <= 100_000; i++) files[`b/tools/t/${i}.json`] = [manifest, { level: 0 }];
  await refused(files, /more than 100000 files/);
});

test('what is broken is said with its name', async () => {
  await refused(strToU8('this is no zip'), /no oubliette\.json/);
  await refused(new Uint8Array(0), /no oubliette\.json/);
  await refused({ 'oubliette.json': strToU8('{"format":7}') }, /its format is 7/);
  await refused(
    { 'oubliette.json': manifest, 'first/bundle.json': strToU8('{oops') },
    /first\/bundle\.json is not JSON/,
  );
  await refused({ 'oubliette.json': manifest, 'first/bundle.json': strToU8('[]') }, /holds no object/);
  for (const { id, slug } of [
    { ...bundle, id: undefined },
    { ...bundle, slug: undefined },
  ])
    await refused(
      { 'oubliette.json': manifest, 'first/bundle.json': strToU8(JSON.stringify({ id, slug })) },
      /has no id or no slug/,
    );
  await refused(
    { 'oubliette.json': manifest, 'first/tools/x/v1.json': strToU8('{"slug":"x","version":"v1"}') },
    /belongs to no bundle/,
  );
  const whole = zipSync({ 'oubliette.json': manifest, 'first/bundle.json': strToU8(JSON.stringify(bundle)) });
  await refused(whole.subarray(0, 120), /middle|damaged/);
});

test('no bytes whatever break the reader', async () => {
  const whole = zipSync({ 'oubliette.json': manifest, 'first/bundle.json': strToU8(JSON.stringify(bundle)) });
  const flipped = fc
    .tuple(fc.nat(whole.length - 1), fc.nat(255))
    .map(([at, value]) => Object.assign(new Uint8Array(whole), { [at]: value }));
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.uint8Array({ maxLength: 500 }), flipped), async (bytes) => {
      await unzipAll(bytes).catch((error: { code?: string }) => assert.equal(error.code, 'import.invalid'));
    }),
    { numRuns: 500 },
  );
});

test('what is sent to a server is made smaller only where it is large', async () => {
  const bundleOf = (bytes: number) => ({
    bundle: { ...bundle, slug: 'large' },
    tools: Array.from({ length: 20 }, (_, n) => ({ slug: `t${n}`, version: '1', description: 'x'.repeat(bytes / 20) })),
  });
  const small = bundleOf(2 ** 20);
  assert.ok((await zipToSend([small])).length > 2 ** 20);
  const large = bundleOf(33 * 2 ** 20);
  const zip = await zipToSend([large]);
  assert.ok(zip.length < 2 ** 20, `${zip.length} bytes`);
  assert.deepEqual(await unzipAll(zip), [large]);
});

test('a file with nothing but folders, however many, leaves turns to others', async () => {
  const folder = Buffer.alloc(46 + 2);
  folder.writeUInt32LE(0x02014b50, 0);
  folder.writeUInt16LE(2, 28);
  folder.write('a/', 46);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  const zip = Buffer.concat([...Array.from({ length: 10_000 }, () => folder), end]);
  let [turns, isOver] = [0, false];
  const others = async (): Promise<void> => {
    for (; !isOver; turns++) await new Promise(setImmediate);
  };
  const counting = others();
  await assert.rejects(unzipBundles(zip), { code: 'import.invalid' });
  isOver = true;
  await counting;
  assert.ok(turns >= 10, `${turns} turns`);
});
