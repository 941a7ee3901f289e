import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CompletionContext } from '@codemirror/autocomplete';
import { EditorState } from '@codemirror/state';
import type { Bundle, ToolView } from '../../api/shapes.ts';
import { completeProgram } from './complete.ts';

const bundle = (slug: string): Bundle => ({ id: `id of ${slug}`, slug, toolCount: 500 }) as Bundle;
const tool = (slug: string): ToolView =>
  ({
    slug,
    argSchema: { properties: { text: { type: 'string' }, size: {} }, required: ['text'] },
  }) as unknown as ToolView;

test('completes every pack of a large catalog and asks for the tools of those that are named, and of no others', async () => {
  const asked: string[] = [];
  const bundles = [...Array.from({ length: 2_000 }, (_, index) => bundle(`area-${index}`)), bundle('web-search')];
  const complete = completeProgram(bundles, async (id) => {
    asked.push(id);
    return [tool('find-all'), tool('look')];
  });
  const offered = async (text: string): Promise<string[]> => {
    const found = await complete(new CompletionContext(EditorState.create({ doc: text }), text.length, false));
    return (found?.options ?? []).map((option) => option.label);
  };
  assert.ok((await offered('web')).includes('web_search'));
  assert.deepEqual(asked, []);
  assert.deepEqual(await offered('web_search.'), ['find_all', 'look']);
  assert.deepEqual(await offered('web_search.look(size=1, '), ['text']);
  assert.deepEqual([...new Set(asked)], ['id of web-search']);
});
