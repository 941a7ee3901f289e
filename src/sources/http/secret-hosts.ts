import { fail } from '../../schema/index.ts';
import type { Secret } from '../../store/index.ts';
import { hostRules, type HostRules } from './host-rules.ts';

/** Throws host.not_allowed when a secret is bound to other hosts than the one of `url`. */
export type DemandHost = (secret: Secret, url: URL) => void;

/** Opens the check; the hosts of a secret are read once. */
export function secretHosts(): DemandHost {
  const kept = new Map<string, HostRules>();
  return ({ name, hosts }, url) => {
    if (!hosts) return;
    const key = JSON.stringify(hosts);
    let rules = kept.get(key);
    if (!rules) kept.set(key, (rules = hostRules(hosts)));
    if (!rules.mayAsk(url.hostname, Number(url.port) || (url.protocol === 'https:' ? 443 : 80)))
      throw fail('host.not_allowed', {
        message: `Secret ${name} may be sent only to ${hosts.join(', ')}, not to ${url.host}.`,
      });
  };
}
