import { Type } from 'typebox';
import { demandUnconfined, fail, offerTool, type Actor, type BuiltInBundle, type Call } from '../../schema/index.ts';
import type { Secret, SecretStore } from '../../store/index.ts';
import type { NameSecret } from './curl-template.ts';
import { importCurl } from './curl.ts';
import type { Dialler } from './dialler.ts';
import { fetchText } from './fetch-text.ts';
import type { ImportedTool, ImportReport } from './openapi/index.ts';
import type { ReadOpenApi } from './read-openapi.ts';
import { secretPrefix } from './openapi/secret-names.ts';

/** Stores tools in the bundle of that slug, which is made when it is missing; all or nothing. */
export type StoreTools = (
  actor: Actor,
  bundle: { slug: string; displayName: string; description?: string },
  tools: ImportedTool[],
  conflict: 'skip' | 'fail',
) => Promise<{ created: number; skipped: number }>;

export interface ImportDeps {
  dialler: Dialler;
  secrets: SecretStore;
  store: StoreTools;
  readOpenApi: ReadOpenApi;
}

const strict = { additionalProperties: false } as const;
const conflict = Type.Optional(
  Type.Unsafe<'skip' | 'fail'>({
    enum: ['skip', 'fail'],
    description: 'What happens when a tool exists already: fail (the default) or skip it',
  }),
);
const OpenApiArgs = Type.Object(
  {
    text: Type.Optional(Type.String({ description: 'The document itself, JSON or YAML' })),
    url: Type.Optional(Type.String({ description: 'Where to fetch it, instead of text; the host must be allowed' })),
    bundle: Type.Optional(Type.String({ description: 'Slug of the bundle; made from the title when left out' })),
    base_url: Type.Optional(Type.String({ description: 'Where the API is, when the document does not say' })),
    conflict,
    dry_run: Type.Optional(Type.Boolean({ description: 'Only report what would be imported' })),
  },
  strict,
);
const CurlArgs = Type.Object(
  {
    command: Type.String({ description: 'The whole command, as a shell takes it' }),
    bundle: Type.String({ description: 'Slug of the bundle that gets the tool' }),
    slug: Type.Optional(Type.String({ description: 'Slug of the tool; made from method and path when left out' })),
    dry_run: Type.Optional(Type.Boolean({ description: 'Only show what would be stored' })),
  },
  strict,
);

/** `catalog_import_openapi` and `catalog_import_curl`. */
export function importTools(deps: ImportDeps): BuiltInBundle {
  return {
    slug: 'catalog',
    displayName: 'Catalog',
    description: 'Takes descriptions of other programs into the catalog.',
    isOwn: true,
    tools: [
      offerTool({
        slug: 'import-openapi',
        description:
          'Makes one HTTP tool of every operation of an OpenAPI (3.0, 3.1) or Swagger (2.0) document. What cannot be expressed is reported per operation.',
        level: 'admin',
        argSchema: OpenApiArgs,
        returns:
          'bundle, tools_created, tools_skipped, and the report: operations, imported, not_imported with reasons, notes, secrets, hosts',
        example: 'catalog.import_openapi(url="https://api.example.com/openapi.json", bundle="example")',
        run: (args, call) => takeOpenApi(args, call, deps),
      }),
      offerTool({
        slug: 'import-curl',
        description: 'Makes one HTTP tool of a curl command. Credentials in it become secrets.',
        level: 'admin',
        argSchema: CurlArgs,
        returns: 'bundle, tool, secrets and notes',
        example: 'catalog.import_curl(command="curl https://api.example.com/items?limit=5", bundle="example")',
        run: (args, call) => takeCurl(args, call, deps),
      }),
    ],
  };
}

async function takeOpenApi(
  args: Type.Static<typeof OpenApiArgs>,
  call: Call,
  { dialler, store, readOpenApi }: ImportDeps,
): Promise<object> {
  if ((args.text === undefined) === (args.url === undefined))
    throw fail('args.invalid', { tool: call.tool.name, reason: 'give either text or url' });
  const text = args.text ?? (await fetchText(dialler, args.url as string, call.signal));
  const made = await readOpenApi(text, { bundle: args.bundle, baseUrl: args.base_url ?? args.url }, call.signal);
  const report = shownReport(made.report);
  if (args.dry_run === true) return { bundle: made.bundle.slug, ...report };
  const stored = await store(call.actor, made.bundle, made.tools, args.conflict ?? 'fail');
  return { bundle: made.bundle.slug, tools_created: stored.created, tools_skipped: stored.skipped, ...report };
}

function shownReport({ operations, imported, skipped, notes, secrets, hosts }: ImportReport): object {
  const most = 200;
  return {
    operations,
    imported,
    not_imported: skipped.slice(0, most),
    notes: notes.slice(0, most),
    secrets,
    hosts,
    ...(skipped.length + notes.length > most && { more: skipped.length + notes.length - most }),
  };
}

async function takeCurl(
  args: Type.Static<typeof CurlArgs>,
  call: Call,
  { dialler, secrets, store }: ImportDeps,
): Promise<object> {
  demandUnconfined(call.actor, 'Importing a command');
  const prefix = secretPrefix(args.bundle);
  const kept = await keptSecrets(secrets, prefix);
  // A secret that other tools use stays what it is.
  const nameSecret: NameSecret = (wish, value) => {
    let name = wish;
    for (let count = 2; kept.has(name) && kept.get(name)?.value !== value; count++) name = `${wish}_${count}`;
    return name;
  };
  const { tool, notes, secrets: found, host } = importCurl(args.command, { slug: args.slug, prefix, nameSecret });
  const shown = {
    bundle: args.bundle,
    tool: tool.slug,
    request: tool.httpImpl?.request,
    secrets: found.map((each) => each.name),
    notes,
  };
  if (args.dry_run === true) return shown;
  dialler.check(String(tool.httpImpl?.request.urlTemplate).split('$')[0] ?? '');
  await store(call.actor, { slug: args.bundle, displayName: args.bundle }, [tool], 'fail');
  for (const { name, value } of found) {
    if (value === undefined) continue;
    const there = kept.get(name);
    if (there && (!there.hosts || there.hosts.includes(host))) continue;
    if (value.length >= 8) await secrets.set(name, value, [...(there?.hosts ?? []), host]);
    else
      notes.push(
        `${name} was not kept: a secret has at least 8 characters. Set one with: oubliette secret set ${name}`,
      );
  }
  return shown;
}

/** The secrets whose names begin alike; one that cannot be read any more keeps its name. */
async function keptSecrets(secrets: SecretStore, prefix: string): Promise<Map<string, Secret | undefined>> {
  const names = (await secrets.list()).map(({ name }) => name).filter((name) => name.startsWith(prefix));
  return new Map(
    await Promise.all(names.map(async (name) => [name, await secrets.get(name).catch(() => undefined)] as const)),
  );
}
