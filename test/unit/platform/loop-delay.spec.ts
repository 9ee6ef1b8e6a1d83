import { expect, it } from '@jest/globals';
import { ProcessVitalsAdapter } from '../../../src/fleet/adapters/process-vitals.adapter.js';
import { LoopDelay, type DelayHistogram } from '../../../src/platform/loop-delay.js';
import { PromMetricsService } from '../../../src/platform/prom-metrics.service.js';
import { eventually } from '../../support/local-aws.js';

/** As Node's: what was recorded since its last reset, in nanoseconds. */
class FakeHistogram implements DelayHistogram {
  samplesMs: number[] = [];

  percentile(percentile: number): number {
    const sorted = this.samplesMs.toSorted((a, b) => a - b);
    return (sorted[Math.ceil((percentile / 100) * sorted.length) - 1] ?? 0) * 1e6;
  }

  reset(): void {
    this.samplesMs = [];
  }
}

const lagOf = async (metrics: PromMetricsService, quantile: string) => {
  const line = (await metrics.expose()).split('\n').find((text) => text.startsWith(`event_loop_lag_seconds{quantile="${quantile}"}`));
  return Number(line?.split(' ').at(-1));
};

it('The delay of the main loop is that since the last reading, without the 10 ms that lie between two samples', () => {
  const histogram = new FakeHistogram();
  const delay = new LoopDelay(histogram);
  histogram.samplesMs = [10, 11, 12, 510];
  expect(delay.read(50, 99)).toEqual([1, 500]);
  histogram.samplesMs = [10, 11, 9];
  expect(delay.read(50, 99)).toEqual([0, 1]);
  expect(delay.read(99)).toEqual([0]);
});

it('The metric and the row of the coordinator tell the same of the same window', async () => {
  const [collected, beaten] = [new FakeHistogram(), new FakeHistogram()];
  const metrics = new PromMetricsService(new LoopDelay(collected));
  const vitals = new ProcessVitalsAdapter({ phase: 'ready' }, new LoopDelay(beaten));
  for (const worstMs of [350, 14]) {
    collected.samplesMs = [10, worstMs];
    beaten.samplesMs = [10, worstMs];
    expect(await lagOf(metrics, '0.5')).toBe(0);
    collected.samplesMs = [10, worstMs];
    expect((await lagOf(metrics, '0.99')) * 1_000).toBeCloseTo(vitals.read().loopLagMs, 6);
  }
});

it('One bad second is told once', async () => {
  const metrics = new PromMetricsService();
  await new Promise((resolve) => setTimeout(resolve, 50));
  const endsAt = performance.now() + 600;
  while (performance.now() < endsAt);
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(await lagOf(metrics, '0.99')).toBeGreaterThan(0.5);
  await eventually(async () => (await lagOf(metrics, '0.99')) < 0.4);
});
