import { autocompletion, type CompletionSource } from '@codemirror/autocomplete';
import { json } from '@codemirror/lang-json';
import { python } from '@codemirror/lang-python';
import { linter, lintGutter, type Diagnostic } from '@codemirror/lint';
import { Compartment, EditorState, Prec, type Extension } from '@codemirror/state';
import { EditorView, keymap, placeholder as placeholderText } from '@codemirror/view';
import { basicSetup } from 'codemirror';
import { useEffect, useRef } from 'react';
import { look } from './look.ts';

export interface CodeEditorProps {
  label: string;
  language: 'json' | 'python' | 'text';
  value: string;
  onChange?(text: string): void;
  onRun?(): void;
  complete?: CompletionSource;
  check?(view: EditorView): Diagnostic[];
  isReadOnly?: boolean;
  hasProblem?: boolean;
  minHeight?: number;
  placeholder?: string;
}

/** CodeMirror as a controlled control. Tab leaves it after Escape, as its own documentation promises keyboard users. */
export default function CodeEditor({
  label,
  language,
  value,
  onChange,
  onRun,
  complete,
  check,
  isReadOnly,
  hasProblem,
  minHeight = 120,
  placeholder,
}: CodeEditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const latest = useRef({ onChange, onRun, complete, check });
  useEffect(() => {
    latest.current = { onChange, onRun, complete, check };
  });
  const checking = useRef(new Compartment());
  const first = useRef(value);

  useEffect(() => {
    if (!place.current) return;
    const extensions: Extension[] = [
      Prec.highest(
        keymap.of([{ key: 'Mod-Enter', run: () => (latest.current.onRun ? (latest.current.onRun(), true) : false) }]),
      ),
      basicSetup,
      look,
      EditorView.lineWrapping,
      EditorView.theme({ '.cm-content': { minHeight: `${minHeight}px` } }),
      EditorView.contentAttributes.of({ 'aria-label': label, spellcheck: 'false', tabindex: '0' }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) latest.current.onChange?.(update.state.doc.toString());
      }),
      autocompletion({ override: [(context) => latest.current.complete?.(context) ?? null] }),
      checking.current.of([linter((at) => latest.current.check?.(at) ?? [], { delay: 250 }), lintGutter()]),
    ];
    if (language === 'json') extensions.push(json());
    if (language === 'python') extensions.push(python());
    if (placeholder) extensions.push(placeholderText(placeholder));
    if (isReadOnly) extensions.push(EditorState.readOnly.of(true), EditorView.editable.of(false));
    const made = new EditorView({
      parent: place.current,
      state: EditorState.create({ doc: first.current, extensions }),
    });
    view.current = made;
    return () => {
      made.destroy();
      view.current = undefined;
    };
    // The document itself follows in the effect below, so that typing never rebuilds the editor.
  }, [language, label, isReadOnly, minHeight, placeholder]);

  useEffect(() => {
    const current = view.current;
    first.current = value;
    if (current && current.state.doc.toString() !== value)
      current.dispatch({ changes: { from: 0, to: current.state.doc.length, insert: value } });
  }, [value]);

  useEffect(() => {
    view.current?.dispatch({
      effects: checking.current.reconfigure([
        linter((at) => latest.current.check?.(at) ?? [], { delay: 250 }),
        lintGutter(),
      ]),
    });
  }, [check]);

  return <div ref={place} className={`editor${hasProblem ? ' bad' : ''}`} />;
}
