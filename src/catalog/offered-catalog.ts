import {
  derivedUuid7,
  toolName,
  type Bundle,
  type BundleProvider,
  type Level,
  type OfferedBundle,
  type OfferedTool,
  type Tool,
} from '../schema/index.ts';
import type { Database } from '../store/index.ts';
import { schemaVersion } from './stored-files.ts';
import { OrderedSummaries, type ToolSummary } from './tool-summary.ts';

/** Ids of what code offers are derived from this moment and a name, so that they never change. */
const epoch = Date.parse('2026-11-01T00:00:00.000Z');
const epochText = new Date(epoch).toISOString();

export interface OfferedEntry {
  bundle: Bundle;
  offer: OfferedBundle;
  summaries: ToolSummary[];
}

/** Bundles that code offers (built-ins, packs, upstream servers), with the switches that people set on them. */
export class OfferedCatalog {
  readonly ordered = new OrderedSummaries();
  readonly #db: Database;
  readonly #providers: BundleProvider[];
  readonly #levels = new Map<string, Level>();
  readonly #reasons = new Map<string, string>();
  #switches = new Map<string, boolean>();
  #byBundle = new Map<string, OfferedEntry>();
  #byName = new Map<string, ToolSummary[]>();
  #byId = new Map<string, ToolSummary>();
  #clashes: string[] = [];
  /** Those of the clashes that are with a stored bundle. */
  readonly #hidden = new Set<string>();

  private constructor(db: Database, providers: BundleProvider[]) {
    this.#db = db;
    this.#providers = providers;
  }

  static async open(
    db: Database,
    providers: BundleProvider[],
    isTaken: (slug: string) => boolean,
  ): Promise<OfferedCatalog> {
    await db.migrate('switches', ['CREATE TABLE switches (id TEXT PRIMARY KEY, is_enabled INTEGER NOT NULL) STRICT']);
    const self = new OfferedCatalog(db, providers);
    self.refresh(isTaken);
    return self;
  }

  /** Asks the providers again. A slug that a stored bundle or an earlier provider has is not offered twice: local wins. */
  refresh(isTaken: (slug: string) => boolean): void {
    const rows = this.#db.all<{ id: string; is_enabled: number }>('SELECT id, is_enabled FROM switches');
    this.#switches = new Map(rows.map((row) => [row.id, row.is_enabled === 1]));
    this.#byBundle = new Map();
    this.#byName = new Map();
    this.#byId = new Map();
    this.#levels.clear();
    this.#reasons.clear();
    this.#clashes = [];
    this.#hidden.clear();
    const slugs = new Set<string>();
    for (const offer of this.#providers.flatMap((provider) => provider.bundles())) {
      const isHidden = offer.kind !== 'builtin' && isTaken(offer.slug);
      if (isHidden) this.#hidden.add(offer.slug);
      if (isHidden || slugs.has(offer.slug)) {
        this.#clashes.push(offer.slug);
        continue;
      }
      slugs.add(offer.slug);
      this.#add(offer);
    }
    this.ordered.fill([...this.#byId.values()]);
  }

  /** False when stored bundles have taken or freed a slug since the last refresh. */
  fits(isTaken: (slug: string) => boolean): boolean {
    const isInTheWay = ({ isBuiltIn, slug }: Bundle): boolean => !isBuiltIn && isTaken(slug);
    return this.#hidden.values().every(isTaken) && !this.#byBundle.values().some(({ bundle }) => isInTheWay(bundle));
  }

  #add(offer: OfferedBundle): void {
    const id = derivedUuid7(`${offer.kind}:${offer.slug}`, epoch);
    const modifiedAt = offer.modifiedAt ?? epochText;
    const bundle: Bundle = {
      id,
      slug: offer.slug,
      displayName: offer.displayName,
      ...(offer.description !== undefined && { description: offer.description }),
      isEnabled: (this.#switches.get(id) ?? true) && offer.disabledReason === undefined,
      isBuiltIn: offer.kind === 'builtin',
      isManaged: offer.kind !== 'builtin',
      kind: offer.kind,
      createdAt: epochText,
      modifiedAt,
      schemaVersion,
      ...(offer.disabledReason !== undefined && { disabledReason: offer.disabledReason }),
    };
    const summaries: ToolSummary[] = [];
    for (const tool of offer.tools) {
      const summary = this.#summary(bundle, tool);
      if (this.#byId.has(summary.id)) continue;
      summaries.push(summary);
      this.#byId.set(summary.id, summary);
      this.#byName.set(summary.name, [...(this.#byName.get(summary.name) ?? []), summary]);
      this.#levels.set(summary.id, tool.level);
      if (tool.disabledReason !== undefined) this.#reasons.set(summary.id, tool.disabledReason);
    }
    this.#byBundle.set(id, { bundle, offer, summaries });
  }

  #summary(bundle: Bundle, offered: OfferedTool): ToolSummary {
    const version = offered.version ?? 'v1';
    const id = derivedUuid7(`${bundle.kind}:${bundle.slug}/${offered.slug}@${version}`, epoch);
    const whole: Tool = {
      id,
      slug: offered.slug,
      version,
      bundleID: bundle.id,
      name: offered.name ?? toolName(bundle.slug, offered.slug),
      displayName: offered.displayName ?? offered.slug,
      description: offered.description,
      ...(offered.tags && { tags: offered.tags }),
      isEnabled: this.#switches.get(id) ?? offered.isEnabled ?? true,
      isBuiltIn: bundle.isBuiltIn,
      type: bundle.kind === 'server' ? 'mcp' : 'function',
      argSchema: offered.argSchema,
      ...(offered.outputSchema !== undefined && { outputSchema: offered.outputSchema }),
      ...(bundle.kind !== 'server' && { functionImpl: { func: `${bundle.slug}.${offered.slug}` } }),
      access: offered.level,
      ...(offered.limits && { limits: offered.limits }),
      createdAt: bundle.createdAt,
      modifiedAt: bundle.modifiedAt,
      schemaVersion,
      ...(offered.returns !== undefined && { returns: offered.returns }),
      ...(offered.example !== undefined && { example: offered.example }),
      ...(offered.upstreamName !== undefined && { upstreamName: offered.upstreamName }),
      ...(offered.annotations && { annotations: offered.annotations }),
    };
    const { slug, name, type, isEnabled, tags, createdAt, modifiedAt } = whole;
    const base = { id, slug, version, bundleID: bundle.id, name, type, isEnabled, createdAt, modifiedAt, whole };
    return tags ? { ...base, tags } : base;
  }

  /** Slugs that are offered but hidden, because a bundle of that name exists already. */
  get clashes(): readonly string[] {
    return this.#clashes;
  }

  entry(bundleID: string): OfferedEntry | undefined {
    return this.#byBundle.get(bundleID);
  }

  entries(): IterableIterator<OfferedEntry> {
    return this.#byBundle.values();
  }

  byId(id: string): ToolSummary | undefined {
    return this.#byId.get(id);
  }

  byName(name: string): readonly ToolSummary[] {
    return this.#byName.get(name) ?? [];
  }

  byKey(bundleID: string, slug: string, version: string): ToolSummary | undefined {
    return this.#byBundle.get(bundleID)?.summaries.find((each) => each.slug === slug && each.version === version);
  }

  level(toolId: string): Level | undefined {
    return this.#levels.get(toolId);
  }

  reason(toolId: string): string | undefined {
    return this.#reasons.get(toolId);
  }

  /** Stores a switch; survives restarts and upgrades. */
  async setSwitch(id: string, isEnabled: boolean): Promise<void> {
    await this.#db.write((tx) => {
      tx.run(
        'INSERT INTO switches VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET is_enabled = excluded.is_enabled',
        id,
        isEnabled ? 1 : 0,
      );
    });
  }
}
