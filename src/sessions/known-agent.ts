import { agentOf, clientServer, droidFiles } from '../agents/index.ts';
import { fail, insidePaths, type Settings } from '../schema/index.ts';
import type { KnownAgent } from './ports.ts';

/** The agent of that name in the configuration; agent.unavailable when there is none. `embedded` is always there. */
export function knownAgent(settings: Settings, name: string): KnownAgent {
  const config = settings.agents.known[name] ?? (name === 'embedded' ? { driver: 'embedded' as const } : undefined);
  if (!config) {
    const names = ['embedded', ...Object.keys(settings.agents.known)].join(', ');
    throw fail('agent.unavailable', { agent: name, reason: `it is not configured; known are ${names}` });
  }
  const { driver, command } = agentOf(name, config);
  const files = { ...(config.driver === 'droid' && droidFiles({ mcpServers: [clientServer(true)] })), ...config.files };
  return {
    driver,
    config,
    command: {
      command,
      cwd: insidePaths.workspace,
      env: config.env ?? {},
      ...(Object.keys(files).length > 0 && { files }),
    },
  };
}
