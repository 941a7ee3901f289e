import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { parse } from 'yaml';
import { until } from '../kit/until.ts';
import { config, otServer, type OtServer } from './bench-server.ts';

let server: OtServer;
let client: Client;
let handle: string;

interface Kept {
  handle: string;
  total_lines: number;
  size_bytes: number;
  shape: string;
  preview: string;
  query: string;
}

before(async () => {
  server = await otServer();
  client = await connect(server.token);
  handle = (
    await kept(
      `"\\n".join([f"line {i}" + (" Error here" if i % 10 == 0 else " fine " + "x" * 120) for i in range(1, 501)] + ["configuration"])`,
    )
  ).handle;
});
after(async () => {
  await client.close();
  await server.remove();
});

async function connect(token: string): Promise<Client> {
  const made = new Client({ name: 'test', version: '1' });
  await made.connect(
    new StreamableHTTPClientTransport(new URL(`${server.url}/mcp/run`), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    }),
  );
  return made;
}

async function text(code: string, who = client): Promise<string> {
  const { content, isError } = await who.callTool({ name: 'run', arguments: { code } });
  const [block] = content as { type: string; text: string }[];
  if (isError) throw new Error(block!.text);
  return block!.text;
}
const kept = async (code: string): Promise<Kept> => JSON.parse(await text(code));
const lines = async (query: string): Promise<any> => parse(await text(`ot.result(handle="${handle}"${query})`));

test('an answer of exactly the limit stays whole, whatever its characters cost as JSON; one byte more is stored', async () => {
  assert.equal(await text('"x" * 50000'), 'x'.repeat(50_000));
  assert.equal(await text('"\\n" * 50000'), '\n'.repeat(50_000));
  assert.equal((await kept('"x" * 50001')).size_bytes, 50_001);
  assert.equal((await kept('"é" * 25000 + "x"')).size_bytes, 50_001);
});

test('long integers are stored as they are', async () => {
  const { preview, shape } = await kept(
    '[{"id": 1234567890123456789, "none": [], "no": {}, "in": [1]} for i in range(5000)]',
  );
  assert.deepEqual(
    [shape, preview.split('\n').slice(0, 8)],
    [
      'list of 5000 dict(id, none, no, in)',
      [
        '[',
        '  {',
        '    "id": 1234567890123456789,',
        '    "none": [],',
        '    "no": {},',
        '    "in": [',
        '      1',
        '    ]',
      ],
    ],
  );
});

test('a large answer over MCP is stored and answered as a handle with a bounded preview', async () => {
  const answer = await kept('[{"id": i, "name": "n" * 50} for i in range(2000)]');
  assert.deepEqual(Object.keys(answer), ['handle', 'total_lines', 'size_bytes', 'shape', 'preview', 'query']);
  assert.match(answer.handle, /^[0-9a-f]{32}$/);
  assert.equal(answer.shape, 'list of 2000 dict(id, name)');
  assert.ok(answer.preview.split('\n').length <= 10 && Buffer.byteLength(answer.preview) <= 2000);
  assert.equal(answer.query, `ot.result(handle='${answer.handle}', offset=1, limit=50)`);
  assert.equal(answer.total_lines, 2000 * 4 + 2, 'JSON is cut into lines after it was indented');
  assert.deepEqual(parse(await text(answer.query)).lines.slice(0, 4), [
    '[',
    '  {',
    '    "id": 0,',
    '    "name": "' + 'n'.repeat(50) + '"',
  ]);
});

test('by default the first hundred lines are answered', async () => {
  const answer = await lines('');
  assert.equal(answer.lines.length, 100);
  assert.ok(answer.lines[0].startsWith('line 1 ') && answer.lines[99].startsWith('line 100 '));
});

test('offset and limit choose the lines', async () => {
  const answer = await lines(', offset=101, limit=50');
  assert.ok(answer.lines[0].startsWith('line 101 ') && answer.lines.at(-1).startsWith('line 150 '));
  assert.equal(answer.returned, 50);
});

test('a search keeps matching lines, in any case, and offset and limit count those', async () => {
  const answer = await lines(', search="error", offset=2, limit=3');
  assert.deepEqual(answer.lines, ['line 20 Error here', 'line 30 Error here', 'line 40 Error here']);
  assert.equal(answer.matched_lines, 50);
  assert.equal(answer.total_lines, 501);
  assert.equal(answer.has_more, true);
  const last = await lines(', search="error", offset=41, limit=10');
  assert.deepEqual([last.returned, last.has_more], [10, false]);
  assert.equal((await lines(', search="^line 5[0-3] "')).returned, 4);
});

test('a fuzzy search finds similar lines, best first', async () => {
  const answer = await lines(', search="config", fuzzy=True');
  assert.equal(answer.lines[0], 'configuration');
  assert.equal((await lines(', search="configuartion", fuzzy=True')).lines[0], 'configuration');
  const few = await kept('"\\n".join(["a confgi file", "the configuration"] + ["x" * 60] * 1000)');
  const found = parse(await text(`ot.result(handle="${few.handle}", search="config", fuzzy=True)`));
  assert.deepEqual(found.lines, ['the configuration', 'a confgi file']);
  const alike = await kept('"\\n".join(["abcdef", "abcde"] + ["x" * 60] * 1000)');
  const near = parse(await text(`ot.result(handle="${alike.handle}", search="abcdefghij", fuzzy=True)`));
  assert.deepEqual(near.lines, ['abcdef'], 'six of ten letters are enough, five are not');
  const second = parse(await text(`ot.result(handle="${few.handle}", search="config", fuzzy=True, offset=2)`));
  assert.deepEqual([second.lines, second.offset, second.has_more], [['a confgi file'], 2, false]);
});

test('an unknown handle is answered as text, and the program goes on', async () => {
  assert.match(await text('ot.result(handle="nonexistent")'), /handle 'nonexistent' not found/);
  assert.match(await text('ot.result(handle="../../state.db")'), /not found/);
});

test('an expired result says so', async () => {
  await writeFile(join(server.home, 'config.yaml'), `${config}\noutput: { resultTtlSeconds: 1 }\n`);
  await server.call('ot_reload');
  const short = await kept('"x\\n" * 60000');
  await until(async () => (await text(`ot.result(handle="${short.handle}")`)).includes('has expired'));
  await writeFile(join(server.home, 'config.yaml'), config);
  await server.call('ot_reload');
});

test('the answer tells lines, total, returned, offset and whether there is more', async () => {
  const { lines: _, ...answer } = await lines(', offset=490, limit=5');
  assert.deepEqual(answer, { total_lines: 501, returned: 5, offset: 490, has_more: true });
  assert.equal((await lines(', offset=500, limit=5')).has_more, false);
  assert.equal((await lines(', offset=500, limit=1')).has_more, true);
  assert.equal((await lines(', offset=501, limit=1')).has_more, false);
  assert.deepEqual((await lines(', offset=9000')).lines, []);
});

test('offset 1 is the first line', async () => {
  assert.ok((await lines(', offset=1, limit=1')).lines[0].startsWith('line 1 '));
});

test('an offset below 1 raises ValueError', async () => {
  await assert.rejects(lines(', offset=0'), /ValueError: offset must be >= 1 \(1-indexed\), got 0/);
  assert.equal(
    await text('try:\n    ot.result(handle="x", offset=0)\nexcept ValueError as e:\n    said = str(e)\nsaid'),
    'offset must be >= 1 (1-indexed), got 0',
  );
});

test('a limit below 1 raises ValueError', async () => {
  await assert.rejects(lines(', limit=0'), /ValueError: limit must be >= 1, got 0/);
});

test('a bad pattern raises ValueError; one built to hang does not hang', async () => {
  await assert.rejects(lines(', search="("'), /ValueError: Invalid search pattern: /);
  const startedAt = Date.now();
  await lines(', search="(x+x+)+y"');
  assert.ok(Date.now() - startedAt < 20_000);
});

test('a line of megabytes is searched to its end, and a pattern built to hang keeps nobody else waiting', async () => {
  const long = await kept('"short\\n" + "z" * 500000 + " needle\\nneedle"');
  const search = async (pattern: string): Promise<string> => text(`ot.result(handle="${long.handle}", ${pattern})`);
  const { lines: found, matched_lines } = parse(await search('search="NEEDLE$"'));
  assert.equal(matched_lines, 2);
  assert.match(found[0], /^zzz[^]* more characters\]$/);
  assert.equal(found[1], 'needle');
  let isDone = false;
  const hostile = search('search="z{1,900}y"').finally(() => (isDone = true));
  void hostile.catch(() => {});
  let answered = 0;
  for (; answered < 20 && !isDone; answered++) await server.ask('GET', '/health');
  assert.equal(answered, 20);
  await assert.rejects(hostile, /TimeoutError: ot\.result did not answer within/);
});

test('of more lines than a program could hold a part is answered, and whether there is more', async () => {
  const empty = await kept('"\\n" * 1500000');
  const reading = `r = ot.result(handle="${empty.handle}", limit=10**9)
next = ot.result(handle="${empty.handle}", offset=r["returned"] + 1, limit=10**9)
[r["returned"], r["has_more"], r["total_lines"], next["returned"]]`;
  assert.equal(await text(reading), '[131072,true,1500000,131072]');
  const found = parse(await text(`ot.result(handle="${empty.handle}", search="^$", offset=1499999)`));
  assert.deepEqual([found.returned, found.matched_lines, found.has_more], [2, 1500000, false]);
  const alike = await kept('"needle\\n" * 140000');
  await assert.rejects(
    text(`ot.result(handle="${alike.handle}", search="needel", fuzzy=True)`),
    /ValueError: more than 131072 lines are similar to 'needel'\. Search for more, or without fuzzy/,
  );
});

test('a result belongs to the token that made it', async () => {
  const other = await connect(await server.tokenFor('admin'));
  assert.match(await text(`ot.result(handle="${handle}")`, other), /not found/);
  await other.close();
});

test('the answer of ot.result is never stored again', async () => {
  const big = await kept('"\\n".join(["y" * 1000] * 200)');
  const answer = parse(await text(`ot.result(handle="${big.handle}", limit=200)`));
  assert.equal(answer.returned, 200);
});

test('a large answer of any other tool becomes a handle too', async () => {
  const bundle = new Client({ name: 'test', version: '1' });
  await bundle.connect(
    new StreamableHTTPClientTransport(new URL(`${server.url}/mcp/b/brave`), {
      requestInit: { headers: { authorization: `Bearer ${server.token}` } },
    }),
  );
  const { content } = await bundle.callTool({ name: 'search', arguments: { query: 'q'.repeat(60_000) } });
  const answer = JSON.parse((content as { text: string }[])[0]!.text) as Kept;
  assert.equal(answer.shape, 'dict(query, count)');
  assert.match(await text(`ot.result(handle="${answer.handle}", limit=1)`), /lines: \["\{"\]/);
  await bundle.close();
});

test('REST gets the whole answer up to 4 MiB, then a handle', async () => {
  assert.equal((await server.run('"z" * 3000000')).length, 3_000_000);
  const answer = (await server.call('run', { code: '"z" * 5000000' })).value as Kept;
  assert.equal(answer.size_bytes, 5_000_000);
  assert.match(await server.run(`ot.result(handle="${answer.handle}")["total_lines"]`), /^1$/);
});
