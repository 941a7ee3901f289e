import { isIP, isIPv6 } from 'node:net';

/** Whether an entry of `allowedHosts` can ever fit a host: a name, `*.name`, an address, either with a port, or a CIDR. */
export function isHostEntry(entry: string): boolean {
  const text = entry.trim();
  if (text === '*' || isIPv6(text)) return true;
  if (text.includes('/')) return isCidr(text);
  const url = URL.parse(`http://${text.startsWith('*.') ? text.slice(2) : text}`);
  return (
    url !== null &&
    url.username + url.password + url.search + url.hash === '' &&
    url.pathname === '/' &&
    !/[*\s]/.test(url.hostname) &&
    !/[:@?#\\]$/.test(text)
  );
}

function isCidr(text: string): boolean {
  const [address = '', prefix = '', ...more] = text.split('/');
  const longest = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return more.length === 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= longest;
}
