import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeBundle, toolBody } from '../kit/catalog.ts';
import { testServer, type TestServer } from '../kit/server.ts';
import type { ServerOptions } from '../../src/main.ts';
import { until } from '../kit/until.ts';

const upstream = join(import.meta.dirname, 'search-server.ts');

export const config = `
aliases: { ws: brave.web-search, alias_f: demo.foo, hunt: brave.search }
snippets:
  brv_research:
    description: Search web and extract structured findings
    params:
      topic: { description: Topic to research, example: Python }
      count: { default: 5, description: Number of sources }
    body: |
      results = brave.search(query="{{ topic }}", count={{ count }})
      llm.transform(input=results, prompt="Extract key findings")
  b_q: { description: Quick brave search, params: { q: { description: Query } }, body: 'brave.search(query="{{ q }}")' }
  pkg: { description: Package versions, params: { name: {}, empty: { type: str, default: "" }, off: { type: bool, default: false } }, body: '["{{ name }}", "{{ empty }}", {{ off }}]' }
servers:
  github: { command: ${process.execPath}, args: [${upstream}], timeoutMs: 30000 }
notify:
  topics:
    - { pattern: "notes", file: notes.yaml }
    - { pattern: "status:*", file: deep/status.yaml }
`;

export interface OtServer extends TestServer {
  /** The text that a program answers; fails when the program does. */
  run(code: string, token?: string): Promise<string>;
  /** The error text of a program that must fail. */
  failure(code: string, token?: string): Promise<string>;
  /** A token of its own. */
  tokenFor(scope: string, bundles?: string[]): Promise<string>;
}

/** A server with the packs that the scenarios speak of: brave, excel, firecrawl as scripts, github as an MCP server. */
export async function otServer(more = config, options: Partial<ServerOptions> = {}): Promise<OtServer> {
  const server = await testServer({ ...options, config: more });
  await writeFile(
    join(server.home, 'prompts.yaml'),
    'packs: { excel: "Always name the sheet.", firecrawl: "Crawl politely." }\n',
  );
  await server.call('ot_reload');
  const brave = await makeBundle(server, 'brave', { description: 'Search the web' });
  const put = async (path: string, change: Record<string, unknown>): Promise<void> => {
    const { status, body } = await server.ask(
      'PUT',
      path,
      toolBody({ type: 'script', functionImpl: undefined, access: 'read', ...change }),
    );
    if (status !== 201) throw new Error(JSON.stringify(body));
  };
  const query = { type: 'string', description: 'What to look for' };
  await put(brave.tool('search'), {
    description: 'Search the web with Brave.\nAnswers titles and addresses.',
    argSchema: {
      type: 'object',
      properties: { query, count: { type: 'integer', default: 5 } },
      required: ['query'],
      additionalProperties: false,
    },
    outputSchema: { type: 'object' },
    scriptImpl: { code: '{"query": query, "count": count}' },
  });
  await put(brave.tool('web-search'), {
    description: 'Look for pages',
    argSchema: { type: 'object', properties: { query }, required: ['query'], additionalProperties: false },
    scriptImpl: { code: '"found " + query' },
  });
  for (const [slug, tool, description] of [
    ['excel', 'read', 'Read a sheet'],
    ['firecrawl', 'crawl', 'Crawl a site'],
    ['scaffold', 'make', 'Make a project from a template'],
    ['llm', 'transform', 'Transform a text'],
  ] as const) {
    const bundle = await makeBundle(server, slug);
    await put(bundle.tool(tool), {
      description,
      argSchema: { type: 'object', properties: {} },
      scriptImpl: { code: '1' },
    });
  }
  if (more.includes('github'))
    await until(async () => (await server.call('run', { code: 'ot.packs(info="list")' })).value.includes('github'));
  const run: OtServer['run'] = async (code, token) => {
    const answer = await server.call('run', { code }, token);
    if (!answer.ok) throw new Error(answer.error.message);
    return answer.value as string;
  };
  return {
    ...server,
    run,
    async failure(code, token) {
      const answer = await server.call('run', { code }, token);
      if (answer.ok) throw new Error(`it answered ${JSON.stringify(answer.value)}`);
      return answer.error.message as string;
    },
    tokenFor: async (scope, bundles) =>
      (await server.call('token_create', { name: 'test', scope, ...(bundles && { bundles }) })).value.token as string,
  };
}
