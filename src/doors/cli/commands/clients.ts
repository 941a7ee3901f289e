import { createInterface } from 'node:readline/promises';
import { Option } from 'commander';
import type { Cli } from '../cli.ts';
import { findServers, type FoundServer } from '../clients/found-servers.ts';
import { knownClients, placeOf, type KnownClient } from '../clients/known-clients.ts';
import { applySetup, earlierSetup, planSetup, undoSetup } from '../clients/setup-client.ts';
import { define, type Setting } from '../define.ts';
import { CommandFailure } from '../failure.ts';
import { columns, harmless } from '../output.ts';

interface SetupOptions {
  undo?: boolean;
  dryRun?: boolean;
  yes?: boolean;
}

export function addClients(setting: Setting): void {
  const setup = define(setting, setting.program, {
    usage: 'setup <client>',
    summary: 'add this server to an AI client, with a write token of its own',
    options: [
      new Option('--undo', 'take it out again and revoke its token'),
      new Option('--dry-run', 'only show what would change'),
      new Option('--yes', 'do not ask'),
    ],
    examples: ['oubliette setup cursor', 'oubliette setup claude-code --dry-run', 'oubliette setup vscode --undo'],
    async run(cli, [name], options: SetupOptions) {
      // Only those are let through.
      const client = knownClients.find((each) => each.name === name)!;
      await (options.undo ? undo(cli, client) : setUp(cli, client, options, setting));
    },
  });
  const [name] = setup.registeredArguments;
  name!.choices(knownClients.map((each) => each.name)).description = 'the AI client';
}

async function setUp(cli: Cli, client: KnownClient, options: SetupOptions, { programs }: Setting): Promise<void> {
  const server = await cli.server();
  const url = `${server.url}/mcp/run`;
  const program = programs.stdioCommand?.(cli.home) ?? {
    command: 'npx',
    args: ['oubliette', 'mcp', '--home', cli.home],
  };
  const place = placeOf(cli.env);
  const shown = await planSetup(client, place, { url, token: 'oub_...', program });
  cli.note(shown.diff);
  if (options.dryRun)
    return cli.print({ client: client.name, file: shown.file, changed: false }, () => 'Nothing was changed.');
  if (!options.yes && !(await agreed(cli, `Write ${shown.file}?`))) return cli.note('Nothing was changed.');
  const before = await earlierSetup(client, cli.home);
  const made = await cli.call<{ id: string; token: string }>('token_create', {
    name: `client ${client.name}`,
    scope: 'write',
  });
  const written = planSetup(client, place, { url, token: made.token, program }).then((plan) =>
    applySetup(client, plan, cli.home, made.id),
  );
  const done = await written.catch(async (error: unknown) => {
    // Nobody has it.
    await cli.call('token_revoke', { token_id: made.id }).catch(() => {});
    throw error;
  });
  if (before) await cli.call('token_revoke', { token_id: before.tokenId }).catch(() => {});
  cli.print(
    { client: client.name, file: done.file, backup: done.backup ?? null, changed: true, token_id: made.id },
    () =>
      [
        `${client.name} now knows this server. Restart it to see the tool \`run\`.`,
        ...(done.backup ? [`What was there before: ${done.backup}`] : []),
        `To take it back: oubliette setup ${client.name} --undo`,
      ].join('\n'),
  );
}

async function undo(cli: Cli, client: KnownClient): Promise<void> {
  const done = await undoSetup(client, cli.home);
  const isRevoked = await cli.call('token_revoke', { token_id: done.tokenId }).then(
    () => true,
    () => false,
  );
  cli.print({ client: client.name, file: done.file, undone: true, token_revoked: isRevoked }, () =>
    isRevoked
      ? `${done.file} is as it was.`
      : `${done.file} is as it was. Its token could not be revoked: oubliette token revoke ${done.tokenId}`,
  );
}

/** `oubliette import clients`: offers the MCP servers that other clients have. */
export async function importClients(cli: Cli, options: { yes?: boolean; only?: string[] }): Promise<void> {
  const { servers } = await cli.call<{ servers: { name: string }[] }>('server_list');
  const taken = new Set(servers.map((each) => each.name));
  const all = (await findServers(placeOf(cli.env), (text) => cli.note(harmless(text)))).map((each) =>
    taken.has(each.name) ? { ...each, problem: 'a server of this name is there already' } : each,
  );
  const found = options.only ? all.filter((each) => options.only?.includes(each.name)) : all;
  if (found.length === 0)
    return cli.print(
      { found: [], added: [] },
      () =>
        `No MCP servers${options.only ? ` called ${options.only.join(' or ')}` : ''} were found in Claude, Cursor, VS Code, Codex or Gemini.`,
    );
  cli.note(columns(found.map((each) => [each.name, each.clients.join(', '), described(each)])));
  const usable = found.filter((each) => !each.problem);
  const isWanted = usable.length > 0 && (options.yes || (await agreed(cli, `Take over ${usable.length}?`)));
  const added: string[] = [];
  const failed: { name: string; error: string }[] = [];
  for (const server of isWanted ? usable : [])
    try {
      await addServer(cli, server);
      added.push(server.name);
    } catch (error) {
      if (!(error instanceof CommandFailure)) throw error;
      failed.push({ name: server.name, error: error.message });
    }
  const report = found.map(({ name, clients, problem }) => ({ name, clients, ...(problem && { problem }) }));
  cli.print({ found: report, added, ...(failed.length > 0 && { failed }) }, () =>
    [
      added.length > 0
        ? `Added ${added.join(', ')}. They appear as soon as they answer: oubliette server list`
        : 'Nothing was added.',
      ...failed.map((each) => `${each.name}: ${each.error}`),
    ].join('\n'),
  );
}

/** With its secrets, or neither. */
async function addServer(cli: Cli, { name: server, config, secrets }: FoundServer): Promise<void> {
  const { secrets: kept } = await cli.call<{ secrets: { name: string }[] }>('secret_list');
  for (const [name, value] of Object.entries(secrets)) await cli.call('secret_set', { name, value });
  await cli.call('server_add', { name: server, ...config }).catch(async (error: unknown) => {
    for (const name of Object.keys(secrets))
      if (!kept.some((each) => each.name === name)) await cli.call('secret_remove', { name });
    throw error;
  });
}

function described({ config, secrets, problem }: FoundServer): string {
  const what = harmless(
    String(config['url'] ?? [config['command'], ...((config['args'] as string[] | undefined) ?? [])].join(' ')),
  );
  const kept = Object.keys(secrets).length > 0 ? ` (keeps ${Object.keys(secrets).join(', ')} as secrets)` : '';
  return problem ? `cannot be taken over: ${problem}` : `${what.slice(0, 80)}${kept}`;
}

/** Asks a person; a script has said what it wants by calling the command. */
async function agreed(cli: Cli, question: string): Promise<boolean> {
  const { input, errors } = cli.terminal;
  if (!input.isTTY) return true;
  const lines = createInterface({ input, output: errors });
  try {
    return /^y(es)?$/i.test((await lines.question(`${question} [y/N] `)).trim());
  } catch (error) {
    // Ctrl-C or Ctrl-D instead of an answer.
    if ((error as Error).name !== 'AbortError') throw error;
    cli.note('');
    return false;
  } finally {
    lines.close();
  }
}
