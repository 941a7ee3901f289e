import { fail, fromEnvironment, insidePaths, type AgentConfig } from '../schema/index.ts';
import { acpDriver } from './acp/acp.ts';
import type { AgentDriver, McpServerSpec } from './agent.ts';
import { droidDriver } from './droid/droid.ts';

/** How an agent of the configuration is started and spoken to; fails with agent.unavailable when it has no command. */
export function agentOf(name: string, config: AgentConfig): { driver: AgentDriver; command: string[] } {
  if (config.driver === 'embedded')
    return { driver: acpDriver, command: [insidePaths.node, insidePaths.embeddedAgent] };
  if (!config.command)
    throw fail('agent.unavailable', {
      agent: name,
      reason: `it has no command; set agents.${name}.command in config.yaml`,
    });
  const driver = config.driver === 'droid' ? droidDriver : acpDriver;
  return { driver, command: [config.command, ...(config.args ?? [])] };
}

/** `oubliette-client` as an MCP server that an agent starts by itself. The key stays out of every stored line. */
export function clientServer(hasKey: boolean): McpServerSpec {
  const env: Record<string, string> = hasKey ? { OUBLIETTE_API_KEY: fromEnvironment('OUBLIETTE_API_KEY') } : {};
  return { name: 'oubliette', command: insidePaths.node, args: [insidePaths.client], env };
}
