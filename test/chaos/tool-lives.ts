import { randomInt } from 'node:crypto';
import type { TestServer } from '../kit/running-server.ts';
import type { Tally } from './run.ts';

/** What a tool must be: undefined when either of two states is right, because no answer came. */
type Known = { text: string; isEnabled: boolean } | 'deleted' | undefined;

/** A refusal that changes nothing; with any other one a promise is broken. */
type IsRefusal = (status: number, body: string) => boolean;

/** Tools that are made, switched and deleted in one bundle, and what was acknowledged of each. */
export class ToolLives {
  readonly slugs = new Set<string>();
  readonly #bundleID: string;
  readonly #tally: Tally;
  readonly #known = new Map<string, Known>();

  constructor(bundleID: string, tally: Tally) {
    this.#bundleID = bundleID;
    this.#tally = tally;
    for (const what of ['acknowledged', 'refused', 'checked']) tally.counted[what] = 0;
  }

  async makeBundle(server: TestServer): Promise<void> {
    const made = await server.fetch(`/tools/bundles/${this.#bundleID}`, {
      method: 'PUT',
      json: { slug: 'lives', displayName: 'Lives', isEnabled: true },
    });
    if (made.status !== 201) throw new Error(`the bundle could not be made: ${await made.text()}`);
  }

  /** One tool's life: made, perhaps switched off, perhaps deleted. A step without an answer leaves its state open. */
  async live(server: TestServer, slug: string, isRefusal: IsRefusal = () => false): Promise<void> {
    this.slugs.add(slug);
    const text = `made for ${slug} `.repeat(randomInt(1, 200));
    const body = {
      displayName: slug,
      description: text,
      isEnabled: true,
      type: 'function',
      functionImpl: { func: 'demo.foo' },
      argSchema: { type: 'object' },
    };
    const step = async (method: string, json: object | undefined, state: Known, status: number): Promise<boolean> => {
      const before = this.#known.get(slug) ?? 'deleted';
      this.#known.set(slug, undefined);
      const answer = await server.fetch(this.#path(slug), { method, json });
      const said = await answer.text();
      const isRefused = answer.status !== status && isRefusal(answer.status, said);
      if (answer.status !== status && !isRefused)
        this.#tally.violations.push(`${method} ${slug} answered ${answer.status}: ${said}`);
      this.#known.set(slug, isRefused ? before : state);
      this.#tally.counted[isRefused ? 'refused' : 'acknowledged']!++;
      return !isRefused;
    };
    if (!(await step('PUT', body, { text, isEnabled: true }, 201))) return;
    const isSwitched =
      randomInt(4) === 0 && (await step('PATCH', { isEnabled: false }, { text, isEnabled: false }, 200));
    if (randomInt(isSwitched ? 2 : 4) === 0) await step('DELETE', undefined, 'deleted', 204);
  }

  /** Reads these tools one by one. */
  async check(server: TestServer, slugs: Iterable<string>): Promise<void> {
    const broken = (problem: string): unknown => this.#tally.violations.push(problem);
    for (const slug of slugs) {
      const expected = this.#known.get(slug);
      const answer = await server.fetch(this.#path(slug));
      const found = (await answer.json()) as { description?: string; isEnabled?: boolean };
      this.#tally.counted['checked']!++;
      if (answer.status !== 200 && answer.status !== 404) broken(`${slug} answers ${answer.status}`);
      else if (expected === 'deleted') {
        if (answer.status !== 404) broken(`${slug} was deleted, or never made, and is there`);
      } else if (expected) {
        if (answer.status !== 200) broken(`${slug} was acknowledged and is gone`);
        else if (found.description !== expected.text) broken(`${slug} has other bytes than were acknowledged`);
        else if (found.isEnabled !== expected.isEnabled) broken(`${slug} forgot its switch`);
      }
    }
  }

  /** The list shows exactly what single reads show. */
  async checkList(server: TestServer): Promise<void> {
    const listed = new Set<string>();
    let query = `bundleIDs=${this.#bundleID}&includeDisabled=true&recommendedPageSize=256`;
    for (;;) {
      const page = (await (await server.fetch(`/tools/tools?${query}`)).json()) as {
        tools: { slug: string }[];
        nextPageToken?: string;
      };
      for (const tool of page.tools) listed.add(tool.slug);
      if (!page.nextPageToken) break;
      query = `pageToken=${encodeURIComponent(page.nextPageToken)}`;
    }
    for (const [slug, state] of this.#known) {
      if (state === 'deleted' && listed.has(slug)) this.#tally.violations.push(`${slug} was deleted and is listed`);
      if (state && state !== 'deleted' && !listed.has(slug))
        this.#tally.violations.push(`${slug} was acknowledged and is not listed`);
    }
    this.#tally.counted['listed'] = listed.size;
  }

  #path(slug: string): string {
    return `/tools/bundles/${this.#bundleID}/tools/${slug}/version/v1`;
  }
}
