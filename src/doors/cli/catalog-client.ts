import type { Bundle, ToolView } from '../../schema/index.ts';
import { CommandFailure } from './failure.ts';
import type { ServerClient } from './server-client.ts';

export type FoundTool = ToolView & { match?: { tier: string; field: string } };

/** One list, page by page. */
export async function* pagesOf<T>(
  server: ServerClient,
  path: string,
  query: Record<string, string>,
  key: string,
): AsyncGenerator<T[]> {
  let pageToken: string | undefined;
  do {
    const search = new URLSearchParams(pageToken ? { pageToken } : query);
    const page = await server.json<Record<string, unknown>>('GET', `${path}?${search.toString()}`);
    yield (page[key] as T[] | undefined) ?? [];
    pageToken = page['nextPageToken'] as string | undefined;
  } while (pageToken);
}

export async function allPages<T>(...list: Parameters<typeof pagesOf>): Promise<T[]> {
  return (await Array.fromAsync(pagesOf<T>(...list))).flat();
}

export function listBundles(server: ServerClient): Promise<Bundle[]> {
  return allPages<Bundle>(server, '/tools/bundles', { includeDisabled: 'true', pageSize: '256' }, 'bundles');
}

/** A bundle by slug or id; fails when there is none. */
export async function findBundle(server: ServerClient, ref: string): Promise<Bundle> {
  const bundle = (await listBundles(server)).find((each) => each.slug === ref || each.id === ref.toLowerCase());
  if (!bundle) throw new CommandFailure('bundle.not_found', `There is no bundle ${ref}. See: oubliette bundle list`);
  return bundle;
}

export function bundlePath(bundleID: string): string {
  return `/tools/bundles/${bundleID}`;
}

export function toolPath(bundleID: string, slug: string, version: string): string {
  return `${bundlePath(bundleID)}/tools/${encodeURIComponent(slug)}/version/${encodeURIComponent(version)}`;
}
