import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { PromMetricsService } from '../../../src/platform/prom-metrics.service.js';

describe('PromMetricsService', () => {
  it('adds up counters by their labels', async () => {
    const metrics = new PromMetricsService();
    metrics.increment('heartbeat_sent_total');
    metrics.increment('heartbeat_sent_total');
    metrics.increment('jobs_total', { status: 'FAILED' });
    metrics.increment('bytes_total', {}, 500);
    const text = await metrics.expose();
    expect(text).toContain('heartbeat_sent_total 2');
    expect(text).toContain('jobs_total{status="FAILED"} 1');
    expect(text).toContain('bytes_total 500');
  });

  it('keeps the last value of a gauge and the distribution of a histogram', async () => {
    const metrics = new PromMetricsService();
    metrics.gauge('batches_running', 3);
    metrics.gauge('batches_running', 2);
    metrics.observe('task_duration_seconds', 0.2);
    const text = await metrics.expose();
    expect(text).toContain('batches_running 2');
    expect(text).toContain('task_duration_seconds_bucket{le="0.25"} 1');
    expect(text).toContain('task_duration_seconds_bucket{le="0.1"} 0');
  });

  it('tells the delay of the main loop', async () => {
    const text = await new PromMetricsService().expose();
    expect(text).toMatch(/event_loop_lag_seconds\{quantile="0\.99"\} \d/);
  });

  it('has the metrics that README lists, and no other', async () => {
    const text = await new PromMetricsService().expose();
    const declared = [...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name);
    const readme = readFileSync(join(import.meta.dirname, '../../../README.md'), 'utf8');
    const [, list = ''] = readme.split('<summary>Every metric</summary>');
    const listed = [...(list.split('</details>')[0] ?? '').matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name);
    expect(new Set(listed)).toEqual(new Set(declared));
    expect(listed).toHaveLength(declared.length);
  });

  it('keeps two services apart', async () => {
    const [one, other] = [new PromMetricsService(), new PromMetricsService()];
    one.increment('heartbeat_sent_total');
    await expect(other.expose()).resolves.toContain('heartbeat_sent_total 0');
  });

  it.each([
    ['counter', (metrics: PromMetricsService) => metrics.increment('batches_running')],
    ['gauge', (metrics: PromMetricsService) => metrics.gauge('jobs_total', 1)],
    ['histogram', (metrics: PromMetricsService) => metrics.observe('nothing_seconds', 1)],
  ])('refuses the name of a %s that is not declared', (_kind, use) => {
    expect(() => use(new PromMetricsService())).toThrow(/is not declared in prom-metrics.service.ts/);
  });
});
