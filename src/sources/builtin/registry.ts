import {
  fail,
  type BuiltInBundle,
  type BundleProvider,
  type Handler,
  type JsonSchema,
  type Level,
  type OfferedBundle,
} from '../../schema/index.ts';

/** A function that tools can name as `functionImpl.func`. */
export interface RegisteredFunction {
  level: Level;
  /** Only public ones may be referenced by tools that people store. */
  isPublic: boolean;
  /** What it can work with; tools that people store may declare something else. */
  argSchema?: JsonSchema;
  run: Handler;
}

/** Functions that live elsewhere (packs) and may come and go. */
export interface FunctionFinder {
  find(func: string): RegisteredFunction | undefined;
}

/** All functions by name (`demo.foo`), and the built-in bundles they belong to. `main.ts` fills it once. */
export class FunctionRegistry implements BundleProvider, FunctionFinder {
  readonly #bundles = new Map<string, BuiltInBundle>();
  readonly #functions = new Map<string, RegisteredFunction>();
  readonly #finders: FunctionFinder[] = [];
  readonly #listeners = new Set<() => void>();

  /** Adds a bundle's functions. Throws when the slug is there already: two built-ins of one name are a mistake of ours. */
  add(...bundles: readonly BuiltInBundle[]): this {
    for (const bundle of bundles) {
      if (this.#bundles.has(bundle.slug)) throw fail('bundle.exists', { slug: bundle.slug });
      this.#bundles.set(bundle.slug, bundle);
      for (const { slug, level, isPublic = false, argSchema, run } of bundle.tools)
        this.#functions.set(`${bundle.slug}.${slug}`, { level, isPublic, argSchema, run });
    }
    for (const listener of this.#listeners) listener();
    return this;
  }

  /** Adds a place to look for functions that are not built in. */
  addFinder(finder: FunctionFinder): this {
    this.#finders.push(finder);
    return this;
  }

  find(func: string): RegisteredFunction | undefined {
    const own = this.#functions.get(func);
    if (own) return own;
    for (const finder of this.#finders) {
      const found = finder.find(func);
      if (found) return found;
    }
    return undefined;
  }

  bundles(): OfferedBundle[] {
    return [...this.#bundles.values()].map((bundle) => ({ ...bundle, kind: 'builtin' }));
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
