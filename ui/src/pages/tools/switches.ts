import { useMutation, type InfiniteData } from '@tanstack/react-query';
import { request } from '../../api/client.ts';
import { queries, toolPath } from '../../api/queries.ts';
import type { Bundle, ToolView } from '../../api/shapes.ts';
import { toastError } from '../../parts/toasts.tsx';

type Page = { bundles?: Bundle[]; tools?: ToolView[] };

/** Turns a bundle on or off at once in the page, and back again if the server refuses. */
export const useBundleSwitch = () =>
  useMutation({
    mutationFn: ({ bundle, isEnabled }: { bundle: Bundle; isEnabled: boolean }) =>
      request<Bundle>('PATCH', `/tools/bundles/${bundle.id}`, { body: { isEnabled } }),
    onMutate: ({ bundle, isEnabled }) => flip(bundle.id, isEnabled),
    onError: (error, { bundle, isEnabled }) => {
      flip(bundle.id, !isEnabled);
      toastError(error);
    },
    onSettled: refresh,
  });

export const useToolSwitch = () =>
  useMutation({
    mutationFn: ({ tool, isEnabled }: { tool: ToolView; isEnabled: boolean }) =>
      request<ToolView>('PATCH', toolPath(tool.bundleID, tool.slug, tool.version), { body: { isEnabled } }),
    onMutate: ({ tool, isEnabled }) => flip(tool.id, isEnabled),
    onError: (error, { tool, isEnabled }) => {
      flip(tool.id, !isEnabled);
      toastError(error);
    },
    onSettled: refresh,
  });

export function refresh(): void {
  void queries.invalidateQueries({ queryKey: ['bundles'] });
  void queries.invalidateQueries({ queryKey: ['tools'] });
}

function flip(id: string, isEnabled: boolean): void {
  const turn = <T extends { id: string; isEnabled: boolean }>(each: T): T =>
    each.id === id ? { ...each, isEnabled } : each;
  for (const key of ['bundles', 'tools'])
    queries.setQueriesData({ queryKey: [key] }, (data: unknown) => {
      if (Array.isArray(data)) return (data as Bundle[]).map(turn);
      if (isPaged(data))
        return {
          ...data,
          pages: data.pages.map((page) => ({
            ...page,
            ...(page.bundles ? { bundles: page.bundles.map(turn) } : {}),
            ...(page.tools ? { tools: page.tools.map(turn) } : {}),
          })),
        };
      if (typeof data === 'object' && data !== null && 'id' in data) return turn(data as Bundle);
      return data;
    });
}

const isPaged = (data: unknown): data is InfiniteData<Page> =>
  typeof data === 'object' && data !== null && 'pages' in data;
