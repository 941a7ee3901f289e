/** One line of the table: two sides measured in the same run, or one side against a fixed bound. */
export interface Row {
  what: string;
  /** `calls/s`, `ms`, `MB`, `tokens`. */
  unit: string;
  /** One number per round; the table shows the median and the spread. */
  ours: number[];
  other?: number[];
  /** Who the other is: `bare fastify`, `mcp-proxy 6.4.0`. */
  otherName?: string;
  goal?: Goal;
}

/** A bound on ours / other (`ratio`) or on ours alone (`value`). */
export interface Goal {
  of: 'ratio' | 'value';
  atLeast?: number;
  atMost?: number;
}

export interface Judged {
  ours: number;
  other?: number;
  ratio?: number;
  spread: number;
  goal: string;
  isMet?: boolean;
}

export function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

export function percentile(numbers: readonly number[], share: number): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
}

/** Half the distance between the lowest and the highest round, as a share of the median. */
export function spread(numbers: readonly number[]): number {
  return (Math.max(...numbers) - Math.min(...numbers)) / 2 / (median(numbers) || 1);
}

/**
 * Runs every side once per round, in turns, so that a slow moment of the machine hits all of them; the first side
 * changes from round to round. Each side answers one number.
 */
export async function interleave<Side extends string>(
  rounds: number,
  sides: Record<Side, () => Promise<number>>,
): Promise<Record<Side, number[]>> {
  const names = Object.keys(sides) as Side[];
  const taken = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Side, number[]>;
  for (let round = 0; round < rounds; round++)
    for (let i = 0; i < names.length; i++) {
      const name = names[(i + round) % names.length]!;
      taken[name].push(await sides[name]());
    }
  return taken;
}

export function judge(row: Row): Judged {
  const ours = median(row.ours);
  const other = row.other && median(row.other);
  const ratio = other === undefined ? undefined : ours / other;
  const measured = row.goal?.of === 'ratio' ? ratio : ours;
  const { atLeast, atMost } = row.goal ?? {};
  const upper = atMost === undefined ? '' : `<= ${atMost}`;
  const bound = atLeast === undefined ? upper : `>= ${atLeast}`;
  return {
    ours,
    other,
    ratio,
    spread: spread(row.ours),
    goal: row.goal?.of === 'ratio' ? `${bound}x` : bound && `${bound} ${row.unit}`,
    isMet:
      row.goal === undefined || measured === undefined
        ? undefined
        : measured >= (atLeast ?? -Infinity) && measured <= (atMost ?? Infinity),
  };
}
