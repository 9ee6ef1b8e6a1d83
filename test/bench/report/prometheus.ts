/** Samples of a metrics page by name and labels, as written there. */
export type Samples = ReadonlyMap<string, number>;

export function parseSamples(page: string): Samples {
  const lines = page.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]));
}

export function sumOf(samples: Samples, name: string): number {
  return [...samples].filter(([key]) => key === name || key.startsWith(`${name}{`)).reduce((sum, [, value]) => sum + value, 0);
}

/** Of what a histogram counted between two looks. */
export interface Observed {
  count: number;
  /** Upper bound of the bucket that the 99th percentile falls into; `Infinity` beyond the last. */
  p99: number;
}

export function observedBetween(before: Samples, after: Samples, histogram: string): Observed {
  const buckets = [...after].flatMap(([key, value]) => {
    const [, bound] = new RegExp(`^${histogram}_bucket\\{le="([^"]+)"\\}$`).exec(key) ?? [];
    return bound === undefined ? [] : [{ bound: bound === '+Inf' ? Infinity : Number(bound), count: value - (before.get(key) ?? 0) }];
  });
  buckets.sort((a, b) => a.bound - b.bound);
  const count = buckets.at(-1)?.count ?? 0;
  return { count, p99: buckets.find((bucket) => count > 0 && bucket.count >= count * 0.99)?.bound ?? NaN };
}
