import { readFile } from 'node:fs/promises';
import { serversIn } from './client-file.ts';
import { knownClients, type Place } from './known-clients.ts';
import { ourName } from './setup-client.ts';

/** An MCP server that another client has configured, in our own form. */
export interface FoundServer {
  name: string;
  /** The clients that have it. */
  clients: string[];
  config: Record<string, unknown>;
  /** Values that look like credentials: they go to the secret store, and the configuration names them. */
  secrets: Record<string, string>;
  /** Why it cannot be taken over as it is. */
  problem?: string;
}

const sources = ['claude-code', 'claude-desktop', 'cursor', 'vscode', 'codex', 'gemini'];
const looksSecret = /key|token|secret|passw|auth|credential|bearer|cookie|session/i;

/** Every server that the clients on this machine have; one that several have the same way is found once. */
export async function findServers(place: Place, onProblem: (text: string) => void): Promise<FoundServer[]> {
  const found: FoundServer[] = [];
  for (const client of knownClients.filter((each) => sources.includes(each.name))) {
    const file = client.file(place);
    const text = await readFile(file, 'utf8').catch(({ code }: NodeJS.ErrnoException) => {
      if (code !== 'ENOENT' && code !== 'ENOTDIR') onProblem(`${file} cannot be read (${code}): it is passed over.`);
      return undefined;
    });
    if (text === undefined) continue;
    try {
      for (const [name, entry] of Object.entries(serversIn(client, text, file))) {
        if (name !== ourName) add(found, client.name, name, (as) => asServer(as, entry, place.env));
      }
    } catch (error) {
      onProblem((error as Error).message);
    }
  }
  return found;
}

/** `read` gives the server under a name, which is also in the names of its secrets. */
function add(found: FoundServer[], client: string, name: string, read: (as: string) => FoundServer): void {
  const server = read(name);
  const told = ({ config, secrets }: FoundServer): string => JSON.stringify([config, secrets]);
  const same = found.find((each) => told(each) === told(server));
  if (same) return void same.clients.push(client);
  const isTaken = found.some((each) => each.name === name);
  found.push({ ...(isTaken ? read(`${name}-${client}`) : server), clients: [client] });
}

function asServer(name: string, entry: Record<string, unknown>, env: NodeJS.ProcessEnv): FoundServer {
  const secrets: Record<string, string> = {};
  const problems: string[] = [];
  const own = { ...(entry['env'] as object), ...(entry['environment'] as object) };
  const filled = (value: unknown): string => fillIn(String(value), env, own, problems);
  const written = (value: unknown): string => literal(filled(value));
  const hidden = (prefix: string, values: unknown): Record<string, string> | undefined => {
    const pairs = Object.entries((values ?? {}) as Record<string, unknown>);
    if (pairs.length === 0) return undefined;
    return Object.fromEntries(
      pairs.map(([key, value]) => [key, hide(secrets, `${prefix}_${key}`, key, filled(value))]),
    );
  };
  const secretName = name
    .toUpperCase()
    .replace(/[^A-Z0-9]/g, '_')
    .replace(/^(\d)/, '_$1');
  const url = entry['httpUrl'] ?? entry['url'] ?? entry['serverUrl'];
  const [program, ...rest] = Array.isArray(entry['command'])
    ? entry['command'].map(String)
    : [entry['command'] as string | undefined];
  const config: Record<string, unknown> = {};
  if (typeof program === 'string') {
    config['command'] = written(program);
    config['args'] = [...rest, ...[entry['args'] ?? []].flat()].map(written);
    config['env'] = hidden(secretName, own);
    if (typeof entry['cwd'] === 'string') config['cwd'] = written(entry['cwd']);
  } else if (typeof url === 'string') {
    config['url'] = written(url);
    if (entry['type'] === 'sse') config['transport'] = 'sse';
    config['headers'] = hidden(secretName, {
      ...(entry['headers'] as object),
      ...(entry['http_headers'] as object),
      ...fromVariables(entry),
    });
  } else problems.push('it has neither a command nor an address');
  const isOff = entry['disabled'] === true || entry['enabled'] === false;
  if (isOff) config['enabled'] = false;
  const kept = Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined));
  return { name, clients: [], config: kept, secrets, ...(problems.length > 0 && { problem: problems.join('; ') }) };
}

/** Codex names the variables that hold what is to be sent. */
function fromVariables(entry: Record<string, unknown>): Record<string, string> {
  const bearer = entry['bearer_token_env_var'];
  const headers = Object.entries((entry['env_http_headers'] ?? {}) as Record<string, unknown>);
  return {
    ...Object.fromEntries(headers.map(([name, variable]) => [name, `\${${String(variable)}}`])),
    ...(typeof bearer === 'string' && { Authorization: `Bearer \${${bearer}}` }),
  };
}

const literal = (text: string): string => text.replaceAll('${', () => '$${');

/** Only what is long enough to be a secret is hidden; the text around it (`Bearer ...`) stays. */
function hide(secrets: Record<string, string>, name: string, key: string, value: string): string {
  const [, scheme = '', bare = value] = /^((?:Bearer|Basic|Token) )(.+)$/i.exec(value) ?? [];
  if (bare.length < 8 || !looksSecret.test(key)) return literal(value);
  const safe = name
    .toUpperCase()
    .replace(/[^A-Z0-9_]/g, '_')
    .slice(0, 120);
  secrets[safe] = bare;
  return `${scheme}\${${safe}}`;
}

/**
 * Clients write variables as `${NAME}` or `${env:NAME}`; what a client would ask for cannot be known here. What the
 * server is given as `own` variables it puts in itself.
 */
function fillIn(text: string, env: NodeJS.ProcessEnv, own: object, problems: string[]): string {
  return text.replace(
    /\$\{(?:env:)?([A-Za-z_]\w*)(?::-([^}]*))?\}|\$\{input:([^}]+)\}/g,
    (whole, name: string | undefined, otherwise: string | undefined, input: string | undefined) => {
      if (input !== undefined) problems.push(`it asks for ${input}`);
      const value = name === undefined ? undefined : (env[name] ?? otherwise);
      if (name !== undefined && value === undefined && !Object.hasOwn(own, name)) problems.push(`${name} is not set`);
      return value ?? whole;
    },
  );
}
