import type { Cli } from '../cli.ts';
import { define, group, type Setting } from '../define.ts';
import { BadUsage, CommandFailure, Silent } from '../failure.ts';

interface Settings {
  settings: Record<string, unknown>;
  problems: string[];
}

export function addSettings(setting: Setting): void {
  const config = group(setting, 'config', 'config.yaml: what holds now, and one change at a time');
  define(setting, config, {
    usage: 'show [key]',
    summary: 'print the configuration that holds now, or one part of it',
    examples: ['oubliette config show', 'oubliette config show limits.depth'],
    async run(cli, [path]) {
      const { settings, problems } = await cli.call<Settings>('settings_get');
      for (const problem of problems) cli.note(problem);
      const part = path === undefined ? settings : partOf(settings, stepsOf(path), path);
      cli.print(part, () => cli.readable(part));
    },
  });
  define(setting, config, {
    usage: 'set <key> <value>',
    summary: 'change one value, given as JSON or as plain text; comments in the file stay',
    examples: ['oubliette config set limits.depth 2', `oubliette config set allowedHosts '["api.example.com"]'`],
    run: (cli, [path, value]) => change(cli, path, { value: jsonOrText(value) }),
  });
  define(setting, config, {
    usage: 'unset <key>',
    summary: 'remove one value, so that its default holds again',
    examples: ['oubliette config unset limits.depth'],
    run: (cli, [path]) => change(cli, path, {}),
  });
  define(setting, config, {
    usage: 'reload',
    summary: 'read the files again now, all or nothing',
    examples: ['oubliette config reload'],
    async run(cli) {
      const report = await cli.call<{ ok: boolean; errors: string[] }>('settings_reload');
      if (!report.ok && !cli.isJson) throw new CommandFailure('config.invalid', report.errors.join('\n'));
      cli.print(report, () => 'Reloaded.');
      if (!report.ok) throw new Silent(1);
    },
  });
}

async function change(cli: Cli, path: string, value: { value?: unknown }): Promise<void> {
  const { settings } = await cli.call<Settings>('settings_set', { path: stepsOf(path), ...value });
  const now = partOf(settings, stepsOf(path), path, true);
  cli.print(
    { path, value: now ?? null },
    () => `${path} is now ${now === undefined ? 'not set' : JSON.stringify(now)}.`,
  );
}

/** `servers.docs.args.0` as steps; a part with dots is written as "servers.\"a.b\"". */
export function stepsOf(path: string): (string | number)[] {
  const steps = [...path.matchAll(/"((?:[^"\\]|\\.)*)"|([^."]+)/g)].map(([, quoted, plain]) => {
    if (quoted !== undefined) return quoted.replace(/\\(.)/g, '$1');
    return /^\d+$/.test(plain!) ? Number(plain) : plain!;
  });
  if (steps.length === 0) throw new BadUsage(`${path} is no path. Write it as limits.depth`);
  return steps;
}

function partOf(settings: unknown, steps: (string | number)[], path: string, mayMiss = false): unknown {
  let part: unknown = settings;
  for (const step of steps) {
    if (typeof part !== 'object' || part === null || !Object.hasOwn(part, step)) {
      if (mayMiss) return undefined;
      throw new BadUsage(`There is nothing at ${path}. See: oubliette config show`);
    }
    part = (part as Record<string | number, unknown>)[step];
  }
  return part;
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
