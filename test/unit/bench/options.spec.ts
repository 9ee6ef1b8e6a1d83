import { describe, expect, it } from '@jest/globals';
import { parseOptions, UsageError } from '../../bench/options.js';

describe('parseOptions', () => {
  it('takes the sizes of the design when none are given', () => {
    expect(parseOptions(['small'])).toMatchObject({
      name: 'small',
      files: 10_000,
      largeFiles: 4,
      largeBytes: 1024 ** 3,
      pairs: 5,
      latencyMs: 30,
    });
    expect(parseOptions(['memory'])).toMatchObject({ manifestTasks: 1_000_000, fileBytes: 10 * 1024 ** 3 });
    expect(parseOptions(['loop'])).toMatchObject({ tokens: 5_000 });
    expect(parseOptions(['counting'])).toMatchObject({ tasks: [1_000, 1_000_000], json: false });
  });

  it('takes units, an origin without latency, and fewer rivals', () => {
    expect(parseOptions(['large', '--size', '64MiB', '--latency-ms', '0', '--without', 'rclone', '--json'])).toMatchObject({
      largeBytes: 64 * 1024 ** 2,
      latencyMs: 0,
      rivals: ['naive'],
      json: true,
    });
  });

  it.each([
    [[], 'Which bench'],
    [['huge'], 'no bench huge'],
    [['small', 'large'], 'large is too much'],
    [['small', '--files', '0'], '--files'],
    [['small', '--files', '1.5'], '--files'],
    [['small', '--files', ''], '--files'],
    [['large', '--size', '1GB'], '--size'],
    [['large', '--size', '0'], '--size'],
    [['small', '--latency-ms', '-1'], '--latency-ms'],
    [['counting', '--tasks', '10,x'], '--tasks'],
    [['small', '--without', 'ours'], 'ours is none of'],
    [['small', '--colour'], '--colour'],
  ])('refuses %j and says what is wrong', (argv, words) => {
    expect(() => parseOptions(argv)).toThrow(UsageError);
    expect(() => parseOptions(argv)).toThrow(words);
  });
});
