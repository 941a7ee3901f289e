import { refusal, request, send } from '../../api/client.ts';
import type { Bundle, ToolView } from '../../api/shapes.ts';
import { downloadBlob } from '../../parts/output-file.ts';

export interface ImportReport {
  bundles: { created: number; skipped: number };
  tools: { created: number; skipped: number };
  skipped?: string[];
}

/** Every tool of a bundle, page after page. */
export async function toolsOf(bundleID: string): Promise<ToolView[]> {
  const tools: ToolView[] = [];
  let pageToken: string | undefined;
  do {
    const search = new URLSearchParams({
      includeDisabled: 'true',
      recommendedPageSize: '256',
      bundleIDs: bundleID,
      ...(pageToken ? { pageToken } : {}),
    });
    const page = await request<{ tools: ToolView[]; nextPageToken?: string }>('GET', `/tools/tools?${search}`);
    tools.push(...page.tools);
    pageToken = page.nextPageToken;
  } while (pageToken);
  return tools;
}

/** The same ZIP file that the command line writes. */
export async function exportBundle(bundle: Bundle): Promise<void> {
  const response = await send('GET', `/tools/export?bundleIDs=${bundle.id}`);
  if (!response.ok) throw refusal(response, await response.json().catch(() => null));
  downloadBlob(`${bundle.slug}.zip`, await response.blob());
}

/** Stores what is in a ZIP file, all or nothing; what exists is skipped or stops it, as `conflict` says. */
export const importBundles = (file: File, conflict: 'skip' | 'fail'): Promise<ImportReport> =>
  request<ImportReport>('POST', `/tools/import?conflict=${conflict}`, {
    body: file,
    headers: { 'content-type': 'application/zip' },
  });
