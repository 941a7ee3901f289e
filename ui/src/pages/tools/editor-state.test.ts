import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ToolView } from '../../api/shapes.ts';
import { bodyFrom, draftFrom } from './editor-state.ts';

test('a copy of a request keeps how its fields are written, but for those that were taken away', () => {
  const styles = { query: { f: 'deepObject', g: 'commas' }, body: { h: 'json' } } as const;
  const request = { method: 'POST', urlTemplate: 'https://h.example.org/', query: { f: '${f}', g: '${g}' }, styles };
  const draft = draftFrom(
    { slug: 'a', type: 'http', httpImpl: { request }, argSchema: {} } as Partial<ToolView> as ToolView,
    'v2',
  );
  assert.deepEqual(bodyFrom(draft).httpImpl?.request.styles, styles);
  draft.http.query.pop();
  assert.deepEqual(bodyFrom(draft).httpImpl?.request.styles, { query: { f: 'deepObject' }, body: { h: 'json' } });
});
