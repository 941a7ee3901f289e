import { Ajv, type ErrorObject } from 'ajv';
import { Config, Prompts, isObject, isPythonName, pointerKey, type ConfigFile } from '../schema/index.ts';
import { isHostEntry } from './host-entry.ts';
import { problem, Problems, type Problem, type YamlFile } from './yaml-file.ts';

const ajv = new Ajv({ allErrors: true, verbose: true, strict: false });
const fitsConfig = ajv.compile<ConfigFile>(Config);
const fitsPrompts = ajv.compile<Prompts>(Prompts);

/** Checks one parsed config file against the schema and the rules that a schema cannot express. Throws Problems. */
export function checkConfig(read: YamlFile): ConfigFile {
  const value = withoutEmptySections(read.value);
  if (!fitsConfig(value)) throw new Problems(explain(fitsConfig.errors ?? [], read));
  const problems = [
    ...oddAliases(value, read),
    ...oddServers(value, read),
    ...oddAgents(value, read),
    ...oddOrigins(value, read),
    ...oddHosts(value, read),
    ...oddUrls(value, read),
  ];
  if (problems.length > 0) throw new Problems(problems);
  return value;
}

/** As checkConfig, for prompts.yaml. */
export function checkPrompts(read: YamlFile): Prompts {
  const value = withoutEmptySections(read.value);
  if (!fitsPrompts(value)) throw new Problems(explain(fitsPrompts.errors ?? [], read));
  return value;
}

/** `aliases:` with everything under it commented out reads as null; people mean "nothing here". */
function withoutEmptySections(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, section]) => section !== null)
      .map(([key, section]) => [
        key,
        isObject(section) ? Object.fromEntries(Object.entries(section).filter(([, each]) => each !== null)) : section,
      ]),
  );
}

function explain(errors: ErrorObject[], read: YamlFile): Problem[] {
  const kept = errors.filter((each) => !isInsideUnion(each, errors));
  const seen = new Map<string, Problem>();
  for (const each of kept) {
    const path = pathOf(each);
    const found = problem(read.file, read.lineOf(path), reasonFor(each));
    seen.set(`${found.line} ${found.reason}`, found);
  }
  return [...seen.values()].slice(0, 20);
}

/**
 * A failed union reports every branch. Branches of plain values are told once, at the union; a value that is
 * a map can only have meant the map branch, so there the inner findings are the useful ones.
 */
function isInsideUnion(each: ErrorObject, all: ErrorObject[]): boolean {
  if (each.keyword === 'anyOf')
    return isObject(each.data) && all.some((other) => isUnder(other, each) && isUseful(other));
  const union = all.find((other) => other.keyword === 'anyOf' && isUnder(each, other));
  return union !== undefined && !(isObject(union.data) && isUseful(each));
}

const isUnder = (each: ErrorObject, union: ErrorObject): boolean =>
  each !== union && each.schemaPath.startsWith(`${union.schemaPath}/`);
const isUseful = (each: ErrorObject): boolean =>
  each.keyword !== 'type' || each.parentSchema?.['type'] !== 'string' || !isObject(each.data);

function pathOf(error: ErrorObject): string[] {
  const path = error.instancePath.split('/').slice(1).map(pointerKey);
  if (error.keyword === 'additionalProperties') path.push(String(error.params['additionalProperty']));
  return path;
}

function reasonFor(error: ErrorObject): string {
  const where = pathOf(error).join('.') || 'the file';
  if (error.keyword === 'additionalProperties') {
    const known = Object.keys((error.parentSchema?.['properties'] as object | undefined) ?? {});
    return `unknown key "${where}". Known here: ${known.join(', ')}.`;
  }
  if (error.keyword === 'required')
    return `"${where}" needs the key "${String(error.params['missingProperty'])}". Add it.`;
  if (error.keyword === 'anyOf') {
    const branches = (error.schema as { const?: unknown; type?: string }[]).map(
      (each) => each.const ?? `a ${each.type === 'object' ? 'map' : (each.type ?? 'value')}`,
    );
    return `"${where}" must be one of: ${branches.join(', ')}; found ${shown(error.data)}.`;
  }
  if (error.keyword === 'const')
    return `"${where}" must be ${JSON.stringify(error.params['allowedValue'])}; found ${shown(error.data)}.`;
  if (error.keyword === 'type')
    return `"${where}" must be ${typeNames[String(error.params['type'])] ?? String(error.params['type'])}; found ${shown(error.data)}.`;
  return `"${where}" ${error.message ?? 'is not valid'}; found ${shown(error.data)}.`;
}

const typeNames: Record<string, string> = {
  string: 'text (quote it if it looks like a number or true/false)',
  object: 'a map (key: value)',
  array: 'a list ([a, b])',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
};

/** Kinds and short plain values only: whole maps may hold what should not be in a log. */
function shown(value: unknown): string {
  if (value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a map';
  if (typeof value === 'string') return value.length > 40 ? 'a long text' : JSON.stringify(value);
  return String(value);
}

/** A name that no program can write would never be found. */
function oddAliases(value: ConfigFile, read: YamlFile): Problem[] {
  return Object.keys(value.aliases ?? {})
    .filter((name) => !isPythonName(name))
    .map((name) =>
      problem(
        read.file,
        read.lineOf(['aliases', name]),
        `aliases holds ${shown(name)}, which no program can write as a name. Use letters, digits and underscore, no digit first, and no word of Python's own.`,
      ),
    );
}

function oddServers(value: ConfigFile, read: YamlFile): Problem[] {
  const found: Problem[] = [];
  for (const [name, server] of Object.entries(value.servers ?? {})) {
    const line = read.lineOf(['servers', name]);
    const say = (reason: string): number => found.push(problem(read.file, line, `servers.${name} ${reason}`));
    if (!/^[\p{L}\p{Nd}_-]{1,64}$/u.test(name))
      say('is no usable name. Use letters, digits, dash and underscore, at most 64.');
    if (server.command !== undefined && server.url !== undefined) say('has both command and url. Keep one of them.');
    const kind = server.type ?? server.transport;
    if (server.type && server.transport && server.type !== server.transport)
      say('has a type and a transport that disagree. Keep one of them.');
    else if (kind === 'stdio' && server.url !== undefined) say('is of type stdio but has a url. Give it a command.');
    else if ((kind === 'http' || kind === 'sse') && server.command !== undefined)
      say(`is of type ${kind} but has a command. Give it a url.`);
    if (server.url !== undefined && !/^https?:\/\//i.test(server.url))
      say('has a url that does not start with http:// or https://.');
  }
  return found;
}

function oddAgents(value: ConfigFile, read: YamlFile): Problem[] {
  return Object.entries(value.agents ?? {}).flatMap(([name, agent]) => {
    const line = read.lineOf(['agents', name]);
    if (name === 'default')
      return typeof agent === 'string'
        ? []
        : [problem(read.file, line, 'agents.default must be the name of an agent.')];
    if (typeof agent === 'string')
      return [problem(read.file, line, `agents.${name} must be a map with driver and command.`)];
    if (agent.driver !== 'embedded' && agent.command === undefined)
      return [problem(read.file, line, `agents.${name} needs a command to start it.`)];
    return [];
  });
}

function oddHosts(value: ConfigFile, read: YamlFile): Problem[] {
  return (value.allowedHosts ?? []).flatMap((host, index) =>
    !isHostEntry(host)
      ? [
          problem(
            read.file,
            read.lineOf(['allowedHosts', index]),
            `allowedHosts holds ${JSON.stringify(host.slice(0, 80))}. Write a host, *.host, host:port or CIDR, without http:// and path.`,
          ),
        ]
      : [],
  );
}

/** Browsers send an origin as scheme, host and port alone; anything else would never match. */
function oddOrigins(value: ConfigFile, read: YamlFile): Problem[] {
  return (value.http?.allowedOrigins ?? []).flatMap((origin, index) =>
    /^[a-z][a-z\d+.-]*:\/\/[^/*\s]+$/.test(origin)
      ? []
      : [
          problem(
            read.file,
            read.lineOf(['http', 'allowedOrigins', index]),
            `http.allowedOrigins holds ${JSON.stringify(origin.slice(0, 80))}. Write each as https://app.example.com, without path or *.`,
          ),
        ],
  );
}

function oddUrls(value: ConfigFile, read: YamlFile): Problem[] {
  const urls: [string[], string | undefined][] = [
    [['docs', 'baseUrl'], value.docs?.baseUrl],
    [['http', 'publicUrl'], value.http?.publicUrl],
  ];
  return urls.flatMap(([path, url]) =>
    url === undefined || (/^https?:\/\//i.test(url) && URL.canParse(url))
      ? []
      : [
          problem(
            read.file,
            read.lineOf(path),
            `${path.join('.')} must be a whole address such as https://tools.example.com/.`,
          ),
        ],
  );
}
