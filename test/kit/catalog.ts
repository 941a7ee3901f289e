import { v7 } from 'uuid';
import type { TestServer } from './server.ts';

/** A tool body that works; `change` overrides any of it. */
export const toolBody = (change: Record<string, unknown> = {}): Record<string, unknown> => ({
  displayName: 'Colour of a text',
  description: 'Says a colour',
  isEnabled: true,
  type: 'function',
  argSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  functionImpl: { func: 'demo.foo' },
  ...change,
});

export const bundleBody = (slug: string, change: Record<string, unknown> = {}): Record<string, unknown> => ({
  slug,
  displayName: `Bundle ${slug}`,
  isEnabled: true,
  ...change,
});

/** Makes a bundle and answers its id and the path of its tools. */
export async function makeBundle(server: TestServer, slug: string, change: Record<string, unknown> = {}) {
  const id = v7();
  const made = await server.ask('PUT', `/tools/bundles/${id}`, bundleBody(slug, change));
  if (made.status !== 201) throw new Error(`bundle ${slug}: ${JSON.stringify(made.body)}`);
  return {
    id,
    path: `/tools/bundles/${id}`,
    tool: (slug: string, version = 'v1') =>
      `/tools/bundles/${id}/tools/${encodeURIComponent(slug)}/version/${encodeURIComponent(version)}`,
  };
}
