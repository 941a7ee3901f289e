import type { LookupFunction } from 'node:net';
import { Agent, buildConnector } from 'undici';
import type { Resolve } from './dialler.ts';
import type { HostRules } from './host-rules.ts';
import { forbiddenAddress } from './hops.ts';

export { fetch } from 'undici';

/** Dials what the rules allow, and keeps connections for the next request. */
export function openAgent(rules: HostRules, resolve: Resolve): Agent {
  const connectors = new Map<number, ReturnType<typeof buildConnector>>();
  const connectorFor = (port: number) => {
    let connector = connectors.get(port);
    if (!connector)
      connectors.set(
        port,
        (connector = buildConnector({ lookup: checkedLookup(rules, port, resolve), timeout: 10_000 })),
      );
    return connector;
  };
  return new Agent({
    connections: 128,
    // Callers bring their own deadline.
    bodyTimeout: 0,
    headersTimeout: 0,
    connect: (target, callback) =>
      connectorFor(Number(target.port) || (target.protocol === 'https:' ? 443 : 80))(target, callback),
  });
}

/** What this hands to the socket is what is dialled: no second look-up can put another address in its place. */
function checkedLookup(rules: HostRules, port: number, resolve: Resolve): LookupFunction {
  return (host, wanted, callback) =>
    resolve(host, (error, addresses) => {
      if (error) return callback(error, '', 0);
      const allowed = addresses.filter((each) => rules.mayDial(each.address, host, port));
      const [first] = allowed;
      if (!first) return callback(forbiddenAddress(host, port, addresses), '', 0);
      if (wanted.all) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
}
