import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ChangeLog } from './change-log.ts';
import { RecordsFile } from './records-file.ts';
import { StoredRecords } from './stored-records.ts';

describe('the file of records', () => {
  let folder: string;
  before(async () => void (folder = await mkdtemp(join(tmpdir(), 'oub-records-'))));
  after(() => rm(folder, { recursive: true }));

  it('counts only beside the log that it was saved with: another one gives the same numbers to other changes', async () => {
    const [log, another] = await Promise.all(['log', 'another'].map((name) => ChangeLog.open(join(folder, name))));
    for (const each of [log!, another!]) await each.tell(['a', 'b']);
    const saved = (of: ChangeLog): RecordsFile => new RecordsFile(join(folder, 'records'), new StoredRecords(), of);
    await saved(log!).save(1);
    assert.deepEqual(await saved(log!).restore(), { doubtful: new Set(['b']) });
    assert.equal(await saved(another!).restore(), undefined);
    await Promise.all([log!.close(), another!.close()]);
  });
});
