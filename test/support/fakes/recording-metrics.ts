import { Metrics, type MetricLabels } from '../../../src/shared/index.js';

interface Recorded {
  name: string;
  value: number;
  labels: MetricLabels;
}

export class RecordingMetrics extends Metrics {
  readonly increments: Recorded[] = [];
  readonly gauges: Recorded[] = [];
  readonly observations: Recorded[] = [];

  increment(name: string, labels: MetricLabels = {}, by = 1): void {
    this.increments.push({ name, value: by, labels });
  }

  gauge(name: string, value: number, labels: MetricLabels = {}): void {
    this.gauges.push({ name, value, labels });
  }

  observe(name: string, value: number, labels: MetricLabels = {}): void {
    this.observations.push({ name, value, labels });
  }

  /** The sum of a counter over all its labels. */
  total(name: string): number {
    return this.increments.filter((one) => one.name === name).reduce((sum, { value }) => sum + value, 0);
  }

  /** The last value of a gauge. */
  last(name: string): number | undefined {
    return this.gauges.findLast((one) => one.name === name)?.value;
  }
}
