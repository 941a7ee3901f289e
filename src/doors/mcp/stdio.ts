import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';

export interface StdioOptions {
  home: string;
  /** `run`, `own` or `b/<bundle>`. */
  menu: string;
  /** Without one: level read, never more. */
  apiKey?: string;
  /** The address of a server that runs already. */
  running(): Promise<string | undefined>;
  /** Serves in this very process, when none runs. */
  serveAlone(): Promise<{ url: string; close(): Promise<void> }>;
  input?: Readable;
  output?: Writable;
  signal?: AbortSignal;
  onProblem?(message: string): void;
}

interface Minted {
  id: string;
  token: string;
  url: string;
}

/** `oubliette mcp`: attaches to the running server or serves alone; resolves when the client is gone. */
export async function serveStdio(options: StdioOptions): Promise<void> {
  const { home, menu, apiKey } = options;
  const path = menu === 'own' ? '/mcp' : `/mcp/${menu}`;
  let alone: Promise<{ url: string; close(): Promise<void> }> | undefined;
  const minted: Minted[] = [];
  const baseUrl = async (): Promise<string> => {
    const running = alone ? undefined : await options.running();
    return running ?? (await (alone ??= options.serveAlone())).url;
  };
  try {
    const { bridgeStdio } = await import('./stdio-bridge.ts');
    await bridgeStdio({
      async find() {
        const url = await baseUrl();
        if (apiKey) return { url: url + path, token: apiKey };
        const made = await mintReader(url, home);
        minted.push(made);
        return { url: url + path, token: made.token };
      },
      input: options.input,
      output: options.output,
      signal: options.signal,
      onProblem: options.onProblem,
    });
  } finally {
    await Promise.all(
      minted.map((each) => callAsAdmin(each.url, home, 'token_revoke', { token_id: each.id }).catch(() => {})),
    );
    await (await alone?.catch(() => undefined))?.close();
  }
}

const readerSeconds = 7 * 24 * 3600;

/** A key of level read for this one client; whoever can read the home may have that. */
async function mintReader(url: string, home: string): Promise<Minted> {
  const made = await callAsAdmin(url, home, 'token_create', {
    name: 'oubliette mcp',
    scope: 'read',
    ttl_seconds: readerSeconds,
  });
  return { id: String(made['id']), token: String(made['token']), url };
}

async function callAsAdmin(url: string, home: string, tool: string, args: object): Promise<Record<string, unknown>> {
  const token = (await readFile(join(home, 'admin.token'), 'utf8')).trim();
  const answer = await fetch(`${url}/call/${tool}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ args }),
    signal: AbortSignal.timeout(10_000),
  });
  const body = (await answer.json()) as { ok?: boolean; value?: Record<string, unknown>; error?: { message: string } };
  if (!body.ok || !body.value) throw new Error(body.error?.message ?? `status ${answer.status}`);
  return body.value;
}
