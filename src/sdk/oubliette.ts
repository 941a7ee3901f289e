import { http, OublietteError, type Http } from './http.ts';
import { Project, type ProjectInfo, type ProjectWish } from './project.ts';
import { Session, type SessionOptions } from './session.ts';

export interface ConnectOptions {
  /** Default: OUBLIETTE_URL, or http://127.0.0.1:4777. */
  url?: string;
  /** Default: OUBLIETTE_TOKEN. */
  token?: string;
  fetch?: typeof globalThis.fetch;
}

/** Connects to a server and checks that it is there and knows the token; throws an OublietteError. */
export async function connect(options: ConnectOptions = {}): Promise<Oubliette> {
  const env = (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env ?? {};
  const url = options.url ?? env['OUBLIETTE_URL'] ?? 'http://127.0.0.1:4777';
  const token = options.token ?? env['OUBLIETTE_TOKEN'];
  const requests = http(url, token, options.fetch ?? globalThis.fetch.bind(globalThis));
  const server = new Oubliette(requests);
  await server.call('project_list', {});
  return server;
}

/** A server, as far as the token reaches. */
export class Oubliette {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Calls any tool by its name (`demo_foo`, `run`, `session_list`) and answers its value. */
  call<T = unknown>(name: string, args: object = {}, options: { signal?: AbortSignal } = {}): Promise<T> {
    return this.#http.call<T>(name, args, options.signal);
  }

  /** The project of this name, made now if there is none. */
  async project(wish: string | ProjectWish): Promise<Project> {
    const { name, ...rest } = typeof wish === 'string' ? { name: wish } : wish;
    const found = await this.#findProject(name);
    if (found) return new Project(this.#http, found);
    try {
      return new Project(this.#http, await this.#http.call<ProjectInfo>('project_create', { name, ...rest }));
    } catch (error) {
      // Someone else made it in the meantime.
      const made =
        error instanceof OublietteError && error.code === 'project.exists' ? await this.#findProject(name) : undefined;
      if (made) return new Project(this.#http, made);
      throw error;
    }
  }

  async #findProject(name: string): Promise<ProjectInfo | undefined> {
    let page_token: string | undefined;
    do {
      const page: { projects: ProjectInfo[]; next_page_token?: string } = await this.#http.call(
        'project_list',
        page_token ? { page_token } : {},
      );
      const found = page.projects.find((project) => project.name === name);
      if (found) return found;
      page_token = page.next_page_token;
    } while (page_token);
    return undefined;
  }

  /** A session that exists already: to follow it, to go on with it, to answer for its caller. */
  session(id: string, options: SessionOptions = {}): Session {
    return new Session(this.#http, { session_id: id }, options);
  }
}
