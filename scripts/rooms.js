// Who may import whom: the one table behind the lint rule, its test, and ARCHITECTURE.md.
import { posix } from 'node:path';

/** Room to the rooms it may import. */
export const rooms = {
  schema: [],
  code: [],
  store: ['schema'],
  config: ['schema', 'store'],
  observe: ['schema', 'store', 'config'],
  auth: ['schema', 'store'],
  catalog: ['schema', 'store', 'config'],
  log: ['schema', 'store'],
  sandbox: ['schema', 'config', 'observe'],
  agents: ['schema', 'config', 'observe'],
  projects: ['schema', 'store', 'config', 'sandbox', 'observe'],
  sources: ['schema', 'store', 'config', 'code', 'observe'],
  gate: ['schema', 'store', 'auth', 'catalog', 'sources', 'observe'],
  sessions: ['schema', 'store', 'config', 'auth', 'log', 'projects', 'sandbox', 'agents', 'observe'],
  doors: ['schema', 'config', 'observe', 'auth', 'catalog', 'log', 'projects', 'sources', 'gate', 'sessions'],
};

/** Files that lie beside the rooms: what each may import. `entry` says where programs lie and may be imported by all. */
export const roots = {
  main: [...Object.keys(rooms), 'doctor'],
  doctor: Object.keys(rooms),
  cli: ['main', 'doctor', 'client', 'doors', 'store', 'schema'],
  client: ['schema'],
  supervisor: ['schema', 'sandbox'],
  'embedded-agent': ['schema', 'agents', 'code'],
  sdk: ['schema'],
  entry: [],
};

/** Packages whose types must not leave the places named. */
export const packagePlaces = {
  fastify: ['doors/'],
  '@fastify/': ['doors/'],
  commander: ['doors/cli/'],
  '@modelcontextprotocol/': ['doors/mcp/', 'doors/cli/', 'sources/mcp/', 'agents/', 'client'],
  '@agentclientprotocol/': ['agents/', 'embedded-agent'],
};

/**
 * Says why `file` may not import `specifier`, or undefined when it may. `file` is a path below src/ with forward
 * slashes, such as `doors/rest/routes.ts`. Tests may import what they like.
 */
export function refusal(file, specifier) {
  if (file.endsWith('.test.ts') || file.includes('/fixtures/')) return undefined;
  if (!specifier.startsWith('.')) return packageRefusal(file, specifier);
  const target = posix.normalize(posix.join(posix.dirname(file), specifier));
  if (target.startsWith('../')) return target === '../package.json' ? undefined : `${specifier} lies outside src/`;
  const from = place(file);
  const to = place(target);
  if (to === 'entry') return undefined;
  if (from === to) return from === 'doors' ? doorRefusal(file, target) : undefined;
  const allowed = rooms[from] ?? roots[from];
  if (!allowed) return `${from} is no room of the table in scripts/rooms.js`;
  if (!allowed.includes(to)) return `${from} may import ${allowed.join(', ') || 'nothing of ours'}; not ${to}`;
  if (rooms[to] && !isFrontDoor(target)) return `import ${to} through its index.ts, not ${target}`;
  return undefined;
}

const place = (path) => path.split('/')[0].replace(/\.ts$/, '');

// The rooms with one folder per kind have an index.ts in each. What programs in a sandbox need of schema are files of
// their own: their bundles must stay small to start fast.
const isFrontDoor = (target) =>
  /^(\w+\/index|schema\/(supervisor|relay|json|line-reader)|(doors|sources|agents|sandbox)\/[\w-]+\/index)\.ts$/.test(
    target,
  );

function doorRefusal(file, target) {
  const [from, to] = [file, target].map((path) => path.split('/')[1]);
  const isShared = to?.endsWith('.ts') || from?.endsWith('.ts');
  return from === to || isShared ? undefined : `no door imports another: doors/${from} may not import doors/${to}`;
}

function packageRefusal(file, specifier) {
  for (const [name, places] of Object.entries(packagePlaces)) {
    const isIt = name.endsWith('/')
      ? specifier.startsWith(name)
      : specifier === name || specifier.startsWith(`${name}/`);
    if (isIt && !places.some((each) => file.startsWith(each)))
      return `${specifier} may be used only in ${places.join(', ')}`;
  }
  return undefined;
}
