/** Counts of durations in buckets that grow by a fifth: quantiles within 10 percent, small enough to store per slot. */
export type Histogram = Map<number, number>;

const growth = Math.log(1.2);
const smallestMs = 0.05;

export function bucketOf(ms: number): number {
  return ms <= smallestMs ? 0 : Math.ceil(Math.log(ms / smallestMs) / growth);
}

export function count(histogram: Histogram, bucket: number, times = 1): void {
  histogram.set(bucket, (histogram.get(bucket) ?? 0) + times);
}

export function merge(into: Histogram, from: Histogram): Histogram {
  for (const [bucket, times] of from) count(into, bucket, times);
  return into;
}

/** The value below which the share `q` of all durations lies; 0 when there are none. */
export function quantile(histogram: Histogram, q: number): number {
  const buckets = [...histogram].sort(([a], [b]) => a - b);
  const total = buckets.reduce((sum, [, times]) => sum + times, 0);
  let seen = 0;
  for (const [bucket, times] of buckets) {
    seen += times;
    if (seen >= total * q && seen > 0) return Math.round(smallestMs * Math.exp((bucket - 0.5) * growth) * 100) / 100;
  }
  return 0;
}

/** `12:3 14:1`: bucket and count. */
export const toText = (histogram: Histogram): string =>
  [...histogram].map(([bucket, times]) => `${bucket}:${times}`).join(' ');

export function fromText(text: string): Histogram {
  const histogram: Histogram = new Map();
  for (const pair of text.split(' ')) {
    const [bucket, times] = pair.split(':').map(Number);
    if (bucket !== undefined && times !== undefined && times > 0) count(histogram, bucket, times);
  }
  return histogram;
}
