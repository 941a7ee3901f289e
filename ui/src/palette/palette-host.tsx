import {
  createContext,
  lazy,
  Suspense,
  use,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
  type ReactNode,
} from 'react';
import type { ToolView } from '../api/shapes.ts';

const PaletteDialog = lazy(() => import('./palette-dialog.tsx'));
const ArgumentDialog = lazy(() => import('./argument-dialog.tsx'));

/** Where a page takes the result of a tool that was run from the palette. */
export interface ResultSink {
  toChat?(tool: ToolView, args: Record<string, unknown>, value: unknown): void;
  toMessage?(text: string): void;
}

interface OpenOptions {
  toolsOnly?: boolean;
  /** Called when nothing was picked. */
  onLeave?(): void;
}

interface Palette {
  open(options?: OpenOptions): void;
  /** Registers the page that is in front; answers the function that takes it back. */
  offer(sink: ResultSink): () => void;
}

const Context = createContext<Palette>({ open: () => undefined, offer: () => () => undefined });
export const usePalette = (): Palette => use(Context);

type Showing =
  | { what: 'closed' }
  | { what: 'search'; options: OpenOptions }
  | { what: 'arguments'; tool: ToolView; sink: ResultSink };

/** Keeps the palette and the argument form of the picked tool above whatever page is shown. */
export function PaletteHost({ children }: { children: ReactNode }) {
  const [showing, setShowing] = useState<Showing>({ what: 'closed' });
  const sink = useRef<ResultSink>({});
  const open = useCallback((options: OpenOptions = {}) => setShowing({ what: 'search', options }), []);
  const offer = useCallback((next: ResultSink) => {
    sink.current = next;
    return () => {
      if (sink.current === next) sink.current = {};
    };
  }, []);
  const close = useCallback(() => setShowing({ what: 'closed' }), []);

  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        open();
      }
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, [open]);

  const palette = useMemo(() => ({ open, offer }), [open, offer]);
  return (
    <Context value={palette}>
      {children}
      <Suspense>
        {showing.what === 'search' ? (
          <PaletteDialog
            toolsOnly={showing.options.toolsOnly ?? false}
            onClose={() => {
              close();
              showing.options.onLeave?.();
            }}
            onPick={(tool) => setShowing({ what: 'arguments', tool, sink: sink.current })}
          />
        ) : null}
        {showing.what === 'arguments' ? (
          <ArgumentDialog
            tool={showing.tool}
            sink={showing.sink}
            onClose={close}
            onBack={() => open({ toolsOnly: true })}
          />
        ) : null}
      </Suspense>
    </Context>
  );
}
