/** Labels of a metric: a small closed set of values each, never an id. */
export type MetricLabels = Record<string, string>;

export abstract class Metrics {
  /** False where nobody collects them: what happens there must be counted by somebody else. */
  readonly isCollected: boolean = true;

  abstract increment(name: string, labels?: MetricLabels, by?: number): void;
  abstract gauge(name: string, value: number, labels?: MetricLabels): void;
  abstract observe(name: string, value: number, labels?: MetricLabels): void;
}
