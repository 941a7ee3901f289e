import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
/** `undefined` stands for any port. */
type Port = number | undefined;

interface Net {
  range: [Address, number];
  port: Port;
}

/** A compiled list of allowed hosts. Names and addresses are two questions: a listed name may still point to a forbidden address. */
export interface HostRules {
  /** May this host be asked for at all? `host` is a URL's hostname. */
  mayAsk(host: string, port: number): boolean;
  /** May this address be dialled for that host? Private ones only when listed as such. */
  mayDial(address: string, host: string, port: number): boolean;
}

/** Compiles entries such as `api.example.com`, `*.example.org:8443`, `127.0.0.1:8080`, `10.0.0.0/8`; skips what is none. */
export function hostRules(entries: readonly string[]): HostRules {
  const names = new Map<string, Port[]>();
  const suffixes: { suffix: string; port: Port }[] = [];
  const nets: Net[] = [];
  let anyName = false;
  for (const entry of entries) {
    const parsed = parseHostEntry(entry);
    if (!parsed) continue;
    if (parsed.kind === 'any') anyName = true;
    else if (parsed.kind === 'net') nets.push(parsed);
    else if (parsed.kind === 'suffix') suffixes.push(parsed);
    else names.set(parsed.name, [...(names.get(parsed.name) ?? []), parsed.port]);
  }
  const fits = (port: Port, wanted: number): boolean => port === undefined || port === wanted;
  const isListed = (address: Address, port: number): boolean =>
    nets.some((net) => fits(net.port, port) && net.range[0].kind() === address.kind() && address.match(...net.range));
  const isNamed = (name: string, port: number): boolean =>
    anyName ||
    (names.get(name)?.some((each) => fits(each, port)) ?? false) ||
    suffixes.some((each) => name.endsWith(each.suffix) && fits(each.port, port));

  return {
    mayAsk(host, port) {
      const address = parseAddress(host);
      if (address) return isListed(address, port) || (anyName && isPublic(address));
      return isNamed(plainName(host), port);
    },
    mayDial(address, host, port) {
      const parsed = parseAddress(address);
      if (!parsed) return false;
      if (isPublic(parsed) || isListed(parsed, port)) return true;
      const name = plainName(host);
      return (
        parsed.range() === 'loopback' &&
        name === 'localhost' &&
        (names.get(name)?.some((each) => fits(each, port)) ?? false)
      );
    },
  };
}

type ParsedEntry =
  | { kind: 'any' }
  | { kind: 'name'; name: string; port: Port }
  | { kind: 'suffix'; suffix: string; port: Port }
  | ({ kind: 'net' } & Net);

/** One entry of `allowedHosts` or of a secret's hosts; undefined when it is none of the known forms. */
export function parseHostEntry(entry: string): ParsedEntry | undefined {
  const text = entry.trim();
  if (text === '*') return { kind: 'any' };
  if (text.includes('/')) return parseNet(text);
  const bare = parseAddress(text);
  if (bare) return { kind: 'net', range: [bare, bits(bare)], port: undefined };
  const isSuffix = text.startsWith('*.');
  const url = URL.parse(`http://${isSuffix ? text.slice(2) : text}`);
  if (
    !url ||
    url.username ||
    url.password ||
    url.pathname !== '/' ||
    url.search ||
    url.hash ||
    /[*@?#\\\s]/.test(url.hostname)
  )
    return undefined;
  // The URL parser drops :80, which is a port like any other here.
  const written = /:(\d+)$/.exec(text)?.[1];
  const port = written === undefined ? undefined : Number(written);
  const address = parseAddress(url.hostname);
  if (address) return isSuffix ? undefined : { kind: 'net', range: [address, bits(address)], port };
  const name = plainName(url.hostname);
  return isSuffix ? { kind: 'suffix', suffix: `.${name}`, port } : { kind: 'name', name, port };
}

/** Of the public internet; whatever is reserved for anything else is private here. */
function isPublic(address: Address): boolean {
  return address.range() === 'unicast' && (address.kind() === 'ipv4' || address.match(publicIpv6));
}

/** Nothing else was ever given out: `::7f00:1`, an old way to write an IPv4 address, is no host of the internet. */
const publicIpv6 = ipaddr.parseCIDR('2000::/3');

function parseNet(text: string): ParsedEntry | undefined {
  try {
    const [base, prefix] = ipaddr.parseCIDR(text);
    return { kind: 'net', range: [base, prefix], port: undefined };
  } catch {
    return undefined;
  }
}

/** Accepts `[::1]` and zone ids; an IPv4 address in IPv6 clothes is the IPv4 address. Four plain parts only, as URLs have them. */
function parseAddress(text: string): Address | undefined {
  const inner = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
  // Only what looks like one is handed over: to refuse a name, which most are, costs the library an error each time.
  if (/^[\d.]+$/.test(inner) && ipaddr.IPv4.isValidFourPartDecimal(inner)) return ipaddr.IPv4.parse(inner);
  if (!inner.includes(':') || !ipaddr.IPv6.isValid(inner)) return undefined;
  const address = ipaddr.IPv6.parse(inner);
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

const bits = (address: Address): number => (address.kind() === 'ipv4' ? 32 : 128);

/** `Example.ORG.` and `example.org` are one name. */
function plainName(host: string): string {
  const lower = host.toLowerCase();
  return lower.endsWith('.') ? lower.slice(0, -1) : lower;
}
