import { isObject, type ServerConfig } from '../../schema/index.ts';

/** The same configuration with every text filled in (secrets in place of `${NAME}`). */
export async function fillConfig(
  config: ServerConfig,
  fillIn: (text: string) => Promise<string> | string,
): Promise<ServerConfig> {
  const all = async (value: unknown): Promise<unknown> => {
    if (typeof value === 'string') return fillIn(value);
    if (Array.isArray(value)) return Promise.all(value.map(all));
    if (!isObject(value)) return value;
    const pairs = Object.entries(value).map(async ([key, each]) => [key, await all(each)] as const);
    return Object.fromEntries(await Promise.all(pairs));
  };
  return (await all(config)) as ServerConfig;
}
