import { json } from '@codemirror/lang-json';
import { unifiedMergeView } from '@codemirror/merge';
import { EditorState } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { minimalSetup } from 'codemirror';
import { useEffect, useRef } from 'react';
import { t } from '../texts/index.ts';
import { look } from './look.ts';

/** What changed between two texts, in one column, unchanged stretches folded. */
export default function DiffView({ before, after, label }: { before: string; after: string; label: string }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!place.current) return;
    const view = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: after,
        extensions: [
          minimalSetup,
          json(),
          look,
          EditorView.lineWrapping,
          EditorState.phrases.of({ '$ unchanged lines': t('versions.unchanged') }),
          EditorState.readOnly.of(true),
          EditorView.editable.of(false),
          EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
          unifiedMergeView({ original: before, mergeControls: false, collapseUnchanged: { margin: 2, minSize: 5 } }),
        ],
      }),
    });
    return () => view.destroy();
  }, [before, after, label]);
  return <div className="editor" ref={place} />;
}
