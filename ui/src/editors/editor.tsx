import { lazy, Suspense, type ComponentProps } from 'react';

const CodeEditor = lazy(() => import('./code-editor.tsx'));
const DiffView = lazy(() => import('./diff-view.tsx'));

/** The code editor, loaded when it is first needed; its place is kept free meanwhile. */
export function Editor(props: ComponentProps<typeof CodeEditor>) {
  return (
    <Suspense fallback={<div className="editor skeleton" style={{ minHeight: props.minHeight ?? 120 }} />}>
      <CodeEditor {...props} />
    </Suspense>
  );
}

export function Diff(props: ComponentProps<typeof DiffView>) {
  return (
    <Suspense fallback={<div className="editor skeleton" style={{ minHeight: 160 }} />}>
      <DiffView {...props} />
    </Suspense>
  );
}
