import { fail, offerTool, type Actor, type BuiltInBundle, type PageTokens } from '../schema/index.ts';
import type { AuditQuery } from './audit-chain.ts';
import type { Observer, StatsQuery } from './observer.ts';

const dayMs = 24 * 3600_000;
const bucketMs: Record<StatsQuery['period'], number> = { day: 3600_000, week: 6 * 3600_000, month: dayMs, all: dayMs };
const period = {
  type: 'string',
  enum: ['day', 'week', 'month', 'all'],
  default: 'day',
  description: 'How far back to look.',
} as const;
const tool = { type: 'string', description: 'Only this tool: demo.foo or demo_foo.' } as const;
const limit = {
  type: 'integer',
  minimum: 1,
  maximum: 1000,
  default: 100,
  description: 'At most this many rows.',
} as const;

/** Tokens of menus that one call saves an asker; measured by whoever knows the menus. */
export type HiddenTokens = (actor: Actor) => Promise<number>;

/** `stats_*`: what the statistics page and the console show. */
export function statsTools(observer: Observer, hiddenTokens: HiddenTokens = async () => 0): BuiltInBundle {
  return {
    slug: 'stats',
    displayName: 'Statistics',
    description: 'Figures about all calls: how many, how fast, how many failed.',
    isOwn: true,
    tools: [
      offerTool({
        slug: 'overview',
        description: 'Totals, a series for charts, and the same figures by tool, token or project.',
        level: 'admin',
        argSchema: {
          type: 'object',
          properties: {
            period,
            tool,
            by: {
              type: 'string',
              enum: ['tool', 'token', 'project'],
              default: 'tool',
              description: 'What to group by.',
            },
          },
          additionalProperties: false,
        },
        returns:
          '{total_calls, success_rate, error_count, avg_duration_ms, tokens_saved, tokens_spent, result_bytes, bucket_ms, series, groups}',
        example: 'stats.overview(period="week", by="tool")',
        run: async (args, { actor }) => overview(observer, args, await hiddenTokens(actor)),
      }),
      offerTool({
        slug: 'calls',
        description: 'Single calls with their time, duration and outcome, newest first.',
        level: 'admin',
        argSchema: {
          type: 'object',
          properties: {
            since: { type: 'string', format: 'date-time', description: 'Only calls that began at or after this time.' },
            tool,
            limit,
          },
          additionalProperties: false,
        },
        returns: '{calls: [{request_id, parent, at, tool, duration_ms, outcome, result_bytes}]}',
        example: 'stats.calls(limit=20)',
        run: async ({ since, tool: name, limit: most }) => {
          const rows = await observer.auditRows({
            limit: most,
            ...(since !== undefined && { since: timeOf(since) }),
            ...(name !== undefined && { tool: name.replaceAll('.', '_') }),
          });
          return {
            calls: rows.map(({ request_id, parent, at, tool: called, duration_ms, outcome, result_bytes, calls }) => ({
              request_id,
              parent,
              at,
              tool: called,
              duration_ms,
              outcome,
              result_bytes,
              calls,
            })),
          };
        },
      }),
    ],
  };
}

/** Leap seconds have the right form, and no place in any calendar here. */
function timeOf(since: string): string {
  const ms = Date.parse(since);
  if (!Number.isNaN(ms)) return new Date(ms).toISOString();
  const [path, message] = ['/args/since', 'is no time on the calendar'];
  throw fail('args.invalid', { tool: 'stats_calls', reason: `${path} ${message}` }, { details: [{ path, message }] });
}

interface OverviewArgs {
  period: StatsQuery['period'];
  by: 'tool' | 'token' | 'project';
  tool?: string;
}

async function overview(
  observer: Observer,
  { period: since, by, tool: name }: OverviewArgs,
  hidden: number,
): Promise<object> {
  const query: StatsQuery = { period: since, ...(name !== undefined && { tool: name }) };
  const [stats, series, groups] = await Promise.all([
    observer.stats(query),
    observer.series({ ...query, bucketMs: bucketMs[since] }),
    observer.groups(query, by),
  ]);
  const total = (field: 'tokensSpent' | 'resultBytes'): number => series.reduce((sum, point) => sum + point[field], 0);
  return {
    total_calls: stats.total_calls,
    // As a fraction of one, which is what charts and number formats expect.
    success_rate: stats.success_rate / 100,
    error_count: stats.error_count,
    avg_duration_ms: stats.avg_duration_ms,
    tokens_saved: stats.total_calls * hidden,
    tokens_spent: total('tokensSpent'),
    result_bytes: total('resultBytes'),
    bucket_ms: bucketMs[since],
    series: series.map((point) => ({
      at: point.at,
      calls: point.calls,
      failures: point.failures,
      p50_ms: point.p50Ms,
      p95_ms: point.p95Ms,
      tokens_saved: point.calls * hidden,
      tokens_spent: point.tokensSpent,
      result_bytes: point.resultBytes,
    })),
    groups,
  };
}

/** `audit_*`: the sealed record of every call. */
export function auditTools(observer: Observer, pages: PageTokens): BuiltInBundle {
  return {
    slug: 'audit',
    displayName: 'Audit',
    description: 'The record of every call, sealed row by row.',
    isOwn: true,
    tools: [
      offerTool({
        slug: 'list',
        description: 'Rows of the audit, newest first. Arguments appear only as a keyed hash.',
        level: 'admin',
        argSchema: {
          type: 'object',
          properties: {
            limit,
            page_token: {
              type: 'string',
              description: 'next_page_token of an earlier answer, to go on behind it.',
            },
            tool: { type: 'string', description: 'Only calls of this tool, by its name: demo_foo.' },
            token_id: { type: 'string', description: 'Only calls with this token: tok_...' },
          },
          additionalProperties: false,
        },
        returns: '{rows: [...], next_page_token?}',
        example: 'audit.list(limit=20)',
        run: async ({ limit: size, page_token, tool, token_id: tokenId }) => {
          const wanted =
            page_token === undefined
              ? { ...(tool !== undefined && { tool }), ...(tokenId !== undefined && { tokenId }) }
              : pages.read<Omit<AuditQuery, 'limit'>>('audit_list', page_token);
          const rows = await observer.auditRows({ ...wanted, limit: size });
          const last = rows.at(-1);
          if (rows.length < size || !last) return { rows };
          return { rows, next_page_token: pages.make('audit_list', { ...wanted, before: last['seq'] }) };
        },
      }),
      offerTool({
        slug: 'verify',
        description: 'Checks that no row of the audit was changed, removed or slipped in.',
        level: 'admin',
        argSchema: { type: 'object', properties: {}, additionalProperties: false },
        returns: '{ok, rows, broken_at?}',
        example: 'audit.verify()',
        run: async () => {
          const { ok, rows, brokenAt } = await observer.verifyAudit();
          return { ok, rows, ...(brokenAt !== undefined && { broken_at: brokenAt }) };
        },
      }),
      offerTool({
        slug: 'prune',
        description: 'Removes rows of the audit that are older than some days. What is left can still be verified.',
        level: 'admin',
        argSchema: {
          type: 'object',
          properties: {
            older_than_days: {
              type: 'integer',
              minimum: 1,
              maximum: 36_500,
              description: 'Rows of calls that began longer ago than this go; the newer ones stay.',
            },
          },
          required: ['older_than_days'],
          additionalProperties: false,
        },
        returns: '{deleted}',
        example: 'audit.prune(older_than_days=365)',
        run: ({ older_than_days: days }) =>
          observer.pruneAudit(new Date(Date.now() - days * 24 * 3600_000).toISOString()),
      }),
    ],
  };
}
