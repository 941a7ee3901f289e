import { dirname, extname, isAbsolute, resolve } from 'node:path';
import { isObject, type ConfigFile } from '../schema/index.ts';
import { checkConfig, checkPrompts } from './check.ts';
import { parseYaml, problem, Problems, readText, type Problem, type YamlFile } from './yaml-file.ts';

/** All files that make up one configuration, merged and checked. */
export interface Loaded {
  config: ConfigFile;
  prompts: Record<string, string>;
  /** Every file that was read or looked for, with its text: what a watcher has to look at. */
  files: Map<string, string | undefined>;
}

const maxFiles = 64;

/** Reads everything, all or nothing: throws BrokenFiles with all that is wrong. */
export async function loadAll(
  paths: { config: string; prompts: string },
  replaced?: { file: string; text: string },
): Promise<Loaded> {
  const files = new Map<string, string | undefined>();
  const problems: Problem[] = [];
  const read = async (file: string): Promise<string | undefined> => {
    // Watched even when it cannot be read, so that a repair is noticed.
    files.set(file, undefined);
    const text = replaced?.file === file ? replaced.text : await readText(file);
    files.set(file, text);
    return text;
  };
  const config = (await attempt(problems, () => readConfig(paths.config, [], read, files))) ?? {};
  const prompts = await attempt(problems, async () => {
    const text = await read(paths.prompts);
    return text === undefined ? {} : (checkPrompts(parseYaml(paths.prompts, text)).packs ?? {});
  });
  if (problems.length > 0) throw new BrokenFiles(problems, files);
  return { config, prompts: prompts ?? {}, files };
}

/** Why nothing was taken over, and which files to watch until it is mended. */
export class BrokenFiles extends Problems {
  readonly files: Map<string, string | undefined>;
  constructor(problems: Problem[], files: Map<string, string | undefined>) {
    super(problems);
    this.files = files;
  }
}

/** One file on top of what it includes: its includes in order first, then its own keys, which win. */
async function readConfig(
  file: string,
  chain: readonly string[],
  read: (file: string) => Promise<string | undefined>,
  files: Map<string, string | undefined>,
): Promise<ConfigFile> {
  const text = await read(file);
  if (text === undefined) return {};
  const parsed = parseYaml(file, text);
  const own = checkConfig(parsed);
  let merged: ConfigFile = {};
  const problems: Problem[] = [];
  for (const [index, name] of (own.include ?? []).entries()) {
    const line = parsed.lineOf(['include', index]);
    const refuse = (reason: string): Problems => new Problems([problem(file, line, reason)]);
    const part = await attempt(problems, async () => {
      const target = includeTarget(parsed, name, line, [...chain, file]);
      if (files.size > maxFiles) throw refuse(`more than ${maxFiles} files are included. Put some of them together.`);
      const included = await readConfig(target, [...chain, file], read, files);
      if (files.get(target) === undefined)
        throw refuse(`include names ${name}, but there is no ${target}. Make it or remove the entry.`);
      return included;
    });
    if (part) merged = merge(merged, part) as ConfigFile;
  }
  if (problems.length > 0) throw new Problems(problems);
  const { include: _, ...rest } = own;
  return merge(merged, rest) as ConfigFile;
}

function includeTarget(parsed: YamlFile, name: string, line: number, chain: readonly string[]): string {
  const refuse = (reason: string): Problems =>
    new Problems([problem(parsed.file, line, `include ${JSON.stringify(name.slice(0, 200))} ${reason}`)]);
  if (name.includes('\0')) throw refuse('holds a NUL character. Remove it.');
  if (!['.yaml', '.yml'].includes(extname(name)))
    throw refuse('is no YAML file. Only .yaml and .yml files can be included.');
  const target = isAbsolute(name) ? resolve(name) : resolve(dirname(parsed.file), name);
  if (chain.includes(target))
    throw refuse(`goes round in a circle (${[...chain, target].join(' -> ')}). Remove one of these entries.`);
  return target;
}

/** Maps are merged key by key; everything else, lists too, is replaced by the later one. */
function merge(base: unknown, over: unknown): unknown {
  if (!isObject(base) || !isObject(over)) return over;
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over))
    merged[key] = Object.hasOwn(base, key) ? merge(base[key], value) : value;
  return merged;
}

/** Runs one step and collects its Problems, so that one reload reports everything that is wrong. */
async function attempt<T>(problems: Problem[], step: () => Promise<T>): Promise<T | undefined> {
  try {
    return await step();
  } catch (error) {
    if (!(error instanceof Problems)) throw error;
    problems.push(...error.list);
    return undefined;
  }
}
