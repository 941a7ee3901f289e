import { QueryClient, infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { own, request } from './client.ts';
import { ApiError } from './errors.ts';
import type { Bundle, FoundTool, Project, Session, Token, ToolView } from './shapes.ts';

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (count, error) => error instanceof ApiError && error.status === 0 && count < 2,
      refetchOnWindowFocus: true,
    },
  },
});

const listed = (path: string, params: Record<string, string | number | boolean | undefined>): string => {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(params))
    if (value !== undefined && value !== '') search.set(name, String(value));
  return `${path}?${search}`;
};

interface Page {
  nextPageToken?: string;
}
const nextPage = (page: Page): string | undefined => page.nextPageToken;

export const bundlesPaged = () =>
  infiniteQueryOptions({
    queryKey: ['bundles', 'paged'],
    queryFn: ({ pageParam, signal }) =>
      request<Page & { bundles: Bundle[] }>(
        'GET',
        listed('/tools/bundles', { includeDisabled: true, pageSize: 100, pageToken: pageParam }),
        { signal },
      ),
    initialPageParam: '',
    getNextPageParam: nextPage,
  });

/** All bundles, page after page; a home holds few enough of them to know all. */
export const allBundles = () =>
  queryOptions({
    queryKey: ['bundles', 'all'],
    queryFn: async ({ signal }) => {
      const bundles: Bundle[] = [];
      let pageToken: string | undefined;
      do {
        const page = await request<Page & { bundles: Bundle[] }>(
          'GET',
          listed('/tools/bundles', { includeDisabled: true, pageSize: 256, pageToken }),
          { signal },
        );
        bundles.push(...page.bundles);
        pageToken = page.nextPageToken;
      } while (pageToken && bundles.length < 5_000);
      return bundles;
    },
  });

export const toolsPaged = (filter: { bundleIDs?: string; tags?: string }, includeDisabled = true) =>
  infiniteQueryOptions({
    queryKey: ['tools', 'paged', filter, includeDisabled],
    queryFn: ({ pageParam, signal }) =>
      request<Page & { tools: ToolView[] }>(
        'GET',
        listed('/tools/tools', {
          ...filter,
          includeDisabled,
          recommendedPageSize: includeDisabled ? 50 : 100,
          pageToken: pageParam,
        }),
        { signal },
      ),
    initialPageParam: '',
    getNextPageParam: nextPage,
  });

export const toolSearch = (q: string, includeDisabled: boolean, pageSize = 50) =>
  infiniteQueryOptions({
    queryKey: ['tools', 'search', q, includeDisabled, pageSize],
    queryFn: ({ pageParam, signal }) =>
      request<Page & { tools: FoundTool[] }>(
        'GET',
        listed('/tools/tools/search', { q, includeDisabled, pageSize, pageToken: pageParam }),
        { signal },
      ),
    initialPageParam: '',
    getNextPageParam: nextPage,
    enabled: q.trim() !== '',
  });

export const toolPath = (bundleID: string, slug: string, version: string): string =>
  `/tools/bundles/${encodeURIComponent(bundleID)}/tools/${encodeURIComponent(slug)}/version/${encodeURIComponent(version)}`;

export const oneTool = (bundleID: string, slug: string, version: string) =>
  queryOptions({
    queryKey: ['tools', 'one', bundleID, slug, version],
    queryFn: ({ signal }) => request<ToolView>('GET', toolPath(bundleID, slug, version), { signal }),
  });

/** The enabled tools of some bundles with their schemas. */
export const enabledTools = (bundleIDs: string[]) =>
  queryOptions({
    queryKey: ['tools', 'enabled', bundleIDs],
    queryFn: async ({ signal }) => {
      const tools: ToolView[] = [];
      let pageToken: string | undefined;
      do {
        const page = await request<Page & { tools: ToolView[] }>(
          'GET',
          listed('/tools/tools', { bundleIDs: bundleIDs.join(','), recommendedPageSize: 256, pageToken }),
          { signal },
        );
        tools.push(...page.tools);
        pageToken = page.nextPageToken;
      } while (pageToken && tools.length < 1_500);
      return tools;
    },
    staleTime: 30_000,
    enabled: bundleIDs.length > 0,
  });

/** An answer of one of the server's own tools, kept under its name and arguments. */
export const ownQuery = <T>(name: string, args: Record<string, unknown> = {}) =>
  queryOptions({
    queryKey: [name.split('_')[0] ?? name, name, args],
    queryFn: ({ signal }) => own<T>(name, args, signal),
  });

export const allProjects = () => ownQuery<{ projects: Project[] }>('project_list');
type SessionPage = { sessions: Session[]; next_page_token?: string };
export const allSessions = (args: { project_id?: string; status?: string } = {}) =>
  ownQuery<SessionPage>('session_list', args);
/** A session and all its relatives, however many pages they fill. */
export const sessionFamily = (id: string) =>
  queryOptions({
    queryKey: ['session', 'family', id],
    queryFn: async ({ signal }) => {
      const found: Session[] = [];
      for (let page_token: string | undefined; ;) {
        const page: SessionPage = await own('session_list', { tree_of: id, ...(page_token && { page_token }) }, signal);
        found.push(...page.sessions);
        if ((page_token = page.next_page_token) === undefined) return found;
      }
    },
  });
export const oneSession = (id: string) => ownQuery<Session>('session_get', { session_id: id });
export const allTokens = () => ownQuery<{ tokens: Token[] }>('token_list');
