import { useCallback } from 'react';
import type { CompletionContext } from '@codemirror/autocomplete';
import type { Diagnostic } from '@codemirror/lint';
import type { EditorView } from '@codemirror/view';
import type { Detail } from '../api/errors.ts';
import CodeEditor from './code-editor.tsx';
import { checkSchema, completeSchema, placeOf } from './schema-help.ts';

interface SchemaEditorProps {
  label: string;
  value: string;
  onChange(text: string): void;
  /** What the server said about this schema; paths are JSON pointers inside it. */
  refused: Detail[];
}

/** An editor for JSON Schema: completion, and every problem at its line, the server's own included. */
export default function SchemaEditor({ label, value, onChange, refused }: SchemaEditorProps) {
  const check = useCallback(
    (view: EditorView): Diagnostic[] => [
      ...checkSchema(view),
      ...refused.map(({ path, message }): Diagnostic => ({ ...placeOf(view.state, path), severity: 'error', message })),
    ],
    [refused],
  );
  return (
    <CodeEditor
      label={label}
      language="json"
      value={value}
      onChange={onChange}
      complete={(context: CompletionContext) => completeSchema(context)}
      check={check}
      minHeight={150}
      hasProblem={refused.length > 0}
    />
  );
}
