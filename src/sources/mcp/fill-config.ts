import { isObject, type ServerConfig } from '../../schema/index.ts';
import type { WayOut } from './way-out.ts';

/** The same configuration with every text filled in (secrets in place of `${NAME}`); what goes to a URL may go there. */
export async function fillConfig(config: ServerConfig, fillIn: WayOut['fillIn']): Promise<ServerConfig> {
  const { url: address, oauth, ...rest } = config;
  const url = address && (await fillUrl(address, fillIn));
  return {
    ...((await fillAll(rest, fillIn, url)) as ServerConfig),
    ...(url && { url }),
    ...(oauth && { oauth: await fillGrant(oauth, fillIn) }),
  };
}

/** What is sent to a token server, filled in. */
export async function fillGrant<T extends { tokenUrl: string }>(oauth: T, fillIn: WayOut['fillIn']): Promise<T> {
  const tokenUrl = await fillUrl(oauth.tokenUrl, fillIn);
  return { ...((await fillAll(oauth, fillIn, tokenUrl)) as T), tokenUrl };
}

/** Only a filled-in address shows where it leads; then its secrets are checked for whether they may go there. */
async function fillUrl(address: string, fillIn: WayOut['fillIn']): Promise<string> {
  const url = await fillIn(address);
  return fillIn(address, url);
}

async function fillAll(value: unknown, fillIn: WayOut['fillIn'], url: string | undefined): Promise<unknown> {
  if (typeof value === 'string') return fillIn(value, url);
  if (Array.isArray(value)) return Promise.all(value.map((each) => fillAll(each, fillIn, url)));
  if (!isObject(value)) return value;
  const pairs = Object.entries(value).map(async ([key, each]) => [key, await fillAll(each, fillIn, url)] as const);
  return Object.fromEntries(await Promise.all(pairs));
}
