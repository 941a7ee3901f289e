import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { Cli } from '../cli.ts';
import { listBundles } from '../catalog-client.ts';
import { BadUsage, CommandFailure } from '../failure.ts';
import { harmless } from '../output.ts';
import type { ServerClient } from '../server-client.ts';

export interface ApiOptions {
  bundle?: string;
  baseUrl?: string;
  conflict: string;
  allowHosts?: boolean;
  dryRun?: boolean;
}

export interface CurlOptions {
  bundle: string;
  slug?: string;
  allowHosts?: boolean;
  dryRun?: boolean;
}

/** From here on it takes long enough to say so. */
const manyTools = 500;

interface Stored {
  tools: { created: number; skipped: number };
}

/** `import openapi FILE|URL`: read and converted here, stored by the server in one piece. */
export async function importApi(cli: Cli, source: string, options: ApiOptions): Promise<void> {
  const { importOpenApi, parseDocument } = await import('../../../sources/http/index.ts');
  const isUrl = /^https?:\/\//i.test(source);
  const document = parseDocument(isUrl ? await fetchDocument(source) : await readDocument(cli, source));
  const {
    bundle,
    tools: all,
    report,
  } = importOpenApi(document, { bundle: options.bundle, baseUrl: options.baseUrl ?? (isUrl ? source : undefined) });
  const tools = [...all];
  const { operations, imported, skipped, notes, secrets, hosts } = report;
  const found = { bundle: bundle.slug, operations, imported, not_imported: skipped, notes, secrets, hosts };
  const lines = [
    ...skipped.map(({ operation, reason }) => `  left out ${operation}: ${reason}`),
    ...noteLines(notes),
    ...secrets.map(({ name, description }) => `  needs ${description}: oubliette secret set ${name}`),
  ].map(harmless);
  const said = (verb: string, count: number, more = ''): string =>
    [`${verb} ${count} of ${operations} operations into ${bundle.slug}${more}.`, ...lines].join('\n');
  if (options.dryRun) return cli.print(found, () => said('Would import', imported));
  const server = await cli.server();
  if (options.allowHosts) await allowHosts(server, hosts);
  if (tools.length >= manyTools) cli.note(`Storing ${tools.length} tools in ${bundle.slug}, all or nothing ...`);
  const { created, skipped: there } = (await store(server, bundle, tools, options.conflict, hosts)).tools;
  cli.print({ ...found, tools_created: created, tools_skipped: there }, () =>
    said('Imported', created, there > 0 ? `, ${there} were there already` : ''),
  );
}

/** `import curl 'curl ...' --bundle SLUG`: one tool; its credentials become secrets on the server. */
export async function importCurlCommand(cli: Cli, source: string, options: CurlOptions): Promise<void> {
  const command = source === '-' ? await text(cli.terminal.input) : source;
  const { importCurl } = await import('../../../sources/http/index.ts');
  const server = await cli.server();
  if (options.allowHosts && !options.dryRun) await allowHosts(server, [importCurl(command).host]);
  const made = await server
    .call<{ bundle: string; tool: string; secrets: string[]; notes: string[] }>('catalog_import_curl', {
      command,
      bundle: options.bundle,
      ...(options.slug !== undefined && { slug: options.slug }),
      ...(options.dryRun && { dry_run: true }),
    })
    .catch((error: unknown) => {
      if (!(error instanceof CommandFailure) || error.code !== 'host.not_allowed') throw error;
      throw new CommandFailure(error.code, `${error.message}\nOr import again with --allow-hosts.`);
    });
  cli.print(made, () =>
    [
      `${options.dryRun ? 'Would make' : 'Made'} ${made.bundle}/${made.tool}.`,
      ...made.secrets.map((name) => `  uses the secret ${name}`),
      ...made.notes.map((note) => harmless(`  ${note}`)),
    ].join('\n'),
  );
}

async function readDocument(cli: Cli, file: string): Promise<string> {
  if (file === '-') return text(cli.terminal.input);
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new BadUsage(`${file} cannot be read (${error.code})`);
  });
}

/** Whoever types an address on this machine allows that host, wherever its name leads, for this one document. */
async function fetchDocument(url: string): Promise<string> {
  const { dialler, fetchText } = await import('../../../sources/http/index.ts');
  const net = dialler({ settings: () => ({ allowedHosts: [] }) });
  try {
    return await fetchText(net, url, undefined, { allow: [URL.parse(url)?.host ?? '', '0.0.0.0/0', '::/0'] });
  } finally {
    await net.close();
  }
}

async function store(
  server: ServerClient,
  bundle: { slug: string },
  tools: { slug: string; version: string }[],
  conflict: string,
  hosts: string[],
): Promise<Stored> {
  const [{ zipToSend }, { newUuid }] = await Promise.all([
    import('../../../gate/index.ts'),
    import('../../../schema/index.ts'),
  ]);
  const there = (await listBundles(server)).find((each) => each.slug === bundle.slug);
  const bytes = await zipToSend([{ bundle: { isEnabled: true, ...bundle, id: there?.id ?? newUuid() }, tools }]);
  try {
    return await server.json<Stored>('POST', `/tools/import?conflict=${conflict}`, {
      bytes,
      contentType: 'application/zip',
    });
  } catch (error) {
    if (!(error instanceof CommandFailure) || error.code !== 'host.not_allowed') throw error;
    throw new CommandFailure(
      error.code,
      `Nothing was stored: the tools reach hosts that are not allowed. Add them to config.yaml, or import again with --allow-hosts: allowedHosts: [${hosts.join(', ')}]`,
    );
  }
}

async function allowHosts(server: ServerClient, hosts: string[]): Promise<void> {
  const { settings } = await server.call<{ settings: { allowedHosts: string[] } }>('settings_get');
  const value = [...new Set([...settings.allowedHosts, ...hosts])];
  if (value.length > settings.allowedHosts.length) await server.call('settings_set', { path: ['allowedHosts'], value });
}

/** One line per kind of note: a document of a thousand operations has a thousand alike. */
function noteLines(notes: { operation: string; reason: string }[]): string[] {
  const byReason = new Map<string, string[]>();
  for (const { operation, reason } of notes) byReason.set(reason, [...(byReason.get(reason) ?? []), operation]);
  return [...byReason].map(
    ([reason, operations]) =>
      `  note: ${reason} (${operations.slice(0, 3).join(', ')}${operations.length > 3 ? ` and ${operations.length - 3} more` : ''})`,
  );
}
