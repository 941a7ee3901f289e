import type { Upstream } from '../../sources/mcp/index.ts';
import type { JsonObject } from './exchange.ts';
import type { Menu } from './menu.ts';

/** What an endpoint can do; a bundle of an upstream server can what that server can. */
export function capabilitiesOf(menu: Menu, upstream: Upstream | undefined): Record<string, JsonObject> {
  if (menu.kind !== 'bundle') return { tools: { listChanged: true }, resources: { subscribe: true }, logging: {} };
  const { prompts, resources, completions } = upstream?.capabilities ?? {};
  return {
    tools: { listChanged: true },
    ...(prompts && { prompts: { listChanged: true } }),
    ...(resources && { resources: { listChanged: true, ...(resources['subscribe'] === true && { subscribe: true }) } }),
    ...(completions && { completions: {} }),
    logging: {},
  };
}
