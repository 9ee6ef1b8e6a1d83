import { describe, expect, it } from '@jest/globals';
import { observedBetween, parseSamples, sumOf } from '../../bench/report/prometheus.js';
import { spreadOf } from '../../bench/report/statistics.js';
import { asTable } from '../../bench/report/table.js';

describe('spreadOf', () => {
  it.each([
    [[3], { min: 3, median: 3, max: 3 }],
    [[5, 1, 3], { min: 1, median: 3, max: 5 }],
    [[10, 1, 2, 9], { min: 1, median: 5.5, max: 10 }],
  ])('of %j is %j', (values, spread) => expect(spreadOf(values)).toEqual(spread));

  it('leaves the values in their order', () => {
    const values = [2, 1];
    spreadOf(values);
    expect(values).toEqual([2, 1]);
  });
});

describe('asTable', () => {
  it('makes each column as wide as its widest text, the first to the left', () => {
    expect(
      asTable(
        ['name', 's'],
        [
          ['a', '1.00'],
          ['longer', '2.5'],
        ],
      ),
    ).toBe('name       s\na       1.00\nlonger   2.5\n');
  });
});

describe('a metrics page', () => {
  const page = (fast: number, slow: number, all: number) =>
    parseSamples(
      `# TYPE late histogram\nlate_bucket{le="0.1"} ${fast}\nlate_bucket{le="1"} ${slow}\nlate_bucket{le="+Inf"} ${all}\ntasks{outcome="a"} 2\ntasks{outcome="b"} 3\n`,
    );

  it('is summed over its labels', () => expect(sumOf(page(0, 0, 0), 'tasks')).toBe(5));

  it('tells the bucket of the 99th percentile of what came between two looks', () => {
    expect(observedBetween(page(50, 50, 50), page(149, 150, 150), 'late')).toEqual({ count: 100, p99: 0.1 });
    expect(observedBetween(page(0, 0, 0), page(98, 100, 100), 'late')).toEqual({ count: 100, p99: 1 });
    expect(observedBetween(page(0, 0, 0), page(0, 0, 10), 'late')).toEqual({ count: 10, p99: Infinity });
  });

  it('has no percentile of nothing', () => expect(observedBetween(page(7, 7, 7), page(7, 7, 7), 'late').p99).toBeNaN());
});
