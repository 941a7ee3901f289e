import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { bundleBody, toolBody } from '../kit/catalog.ts';
import { afterPowerCut } from '../kit/power-cut.ts';
import { startTestServer, type TestServer } from '../kit/running-server.ts';

describe('a catalog after a power cut', () => {
  let home: string;
  let server: TestServer;
  const bundleID = randomUUIDv7();
  const tool = (slug: string): string => `/tools/bundles/${bundleID}/tools/${slug}/version/v1`;
  const ask = async (method: string, path: string, json?: unknown): Promise<{ status: number; body: any }> => {
    const answer = await server.fetch(path, { method, json });
    const text = await answer.text();
    return { status: answer.status, body: text && JSON.parse(text) };
  };
  const fileOf = async (slug: string): Promise<string> => {
    const folder = join(home, 'catalog', bundleID);
    return join(folder, (await readdir(folder)).find((each) => each.startsWith(`tool-${slug}.`)) ?? 'none');
  };
  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'oub-cut-'));
    server = await startTestServer({ home });
    await ask('PUT', `/tools/bundles/${bundleID}`, bundleBody('cut'));
  });
  after(async () => {
    await server.stop();
    await rm(home, { recursive: true });
  });

  it('holds every tool that was acknowledged, as it was last, and none that was deleted', async () => {
    const journal = join(home, 'catalog', '.journal', 'ring');
    // Enough that they are kept in the journal.
    for (let n = 0, isKept = false; !isKept; n++) {
      await Promise.all(Array.from({ length: 16 }, (_, i) => ask('PUT', tool(`early-${n}-${i}`), toolBody())));
      isKept = await readFile(journal).then(
        (bytes) => bytes.includes(`tool-early-${n}-`),
        () => false,
      );
    }
    const made = ['lost', 'emptied', 'switched', 'deleted', 'by-hand'];
    for (const slug of made) assert.equal((await ask('PUT', tool(slug), toolBody())).status, 201);
    assert.equal((await ask('PATCH', tool('switched'), { isEnabled: false })).status, 200);
    assert.equal((await ask('DELETE', tool('deleted'))).status, 204);
    const path = await fileOf('by-hand');
    const lost = await fileOf('lost');
    const emptied = await fileOf('emptied');
    await server.kill();
    // Of two the disk had nothing, or only the name, when the power went; one was edited in the last moment.
    await rm(lost);
    await writeFile(emptied, '');
    await writeFile(path, 'a note of a person');
    await afterPowerCut(journal);
    server = await startTestServer({ home });
    assert.equal((await ask('GET', tool('lost'))).body.displayName, 'Colour of a text');
    assert.equal((await ask('GET', tool('emptied'))).body.displayName, 'Colour of a text');
    assert.equal((await ask('GET', tool('switched'))).body.isEnabled, false);
    assert.equal((await ask('GET', tool('deleted'))).status, 404);
    assert.equal((await ask('GET', tool('by-hand'))).body.error.code, 'tool.corrupt');
    assert.equal((await ask('PUT', tool('lost'), toolBody())).status, 409);
    // The journal begins anew.
    assert.equal((await ask('PUT', tool('after'), toolBody())).status, 201);
    assert.equal((await ask('POST', '/call/cut_after', { args: { text: 'x' } })).status, 200);
  });
});
