import { describe, expect, it } from '@jest/globals';
import { rcloneArguments } from '../../bench/contenders/rclone/rclone-arguments.js';
import { seconds } from '../../bench/processes/cpu.js';
import { parseStatus } from '../../bench/processes/memory.js';
import { asJsonLine } from '../../bench/report/json.js';
import type { Lap } from '../../bench/scenarios/race.js';
import { ratioOf, summaryOf } from '../../bench/scenarios/transfer-result.js';

const lap = (contender: string, round: number, wallS: number): Lap => ({ contender, round, wallS, cpuS: 1, originCpuS: 1, sinkCpuS: 2 });

describe('ratioOf', () => {
  it('compares the two of each round, not the medians', () => {
    const laps = [lap('ours', 1, 1), lap('rclone', 1, 2), lap('ours', 2, 4), lap('rclone', 2, 2), lap('ours', 3, 1), lap('rclone', 3, 1)];
    expect(ratioOf(laps, 'rclone')).toEqual({ min: 0.5, median: 1, max: 2 });
  });

  it('is absent when the rival did not run', () => expect(ratioOf([lap('ours', 1, 1)], 'rclone')).toBeUndefined());
});

describe('summaryOf', () => {
  it('tells the rates of the median lap, and how busy origin and sink were', () => {
    const summary = summaryOf('ours', [lap('ours', 1, 4), lap('ours', 2, 4), lap('naive', 1, 9)], { files: 8, bytes: 4 * 1024 ** 2 });
    expect(summary).toMatchObject({ filesPerS: 2, mibPerS: 1, originBusy: 0.25, sinkBusy: 0.5 });
  });
});

describe('what Linux tells of a process', () => {
  it('has its CPU time behind a name that may hold anything', () => {
    const stat = `12 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 150 50 300 100 20 0`;
    expect(seconds(stat, [11, 12])).toBe(2);
    expect(seconds(stat, [13, 14])).toBe(4);
  });

  it('has its memory in KiB', () => {
    expect(parseStatus('Name:\tnode\nVmHWM:\t  204800 kB\nVmRSS:\t  102400 kB\n')).toEqual({ now: 100, peak: 200 });
  });
});

describe('the orders for rclone', () => {
  it('give it as many files and parts at a time as ours, and parts from one part on', () => {
    const args = rcloneArguments('files.csv', 'bench', { threads: 4, filesPerThread: 8, partsPerFile: 3, partBytes: 8_388_608 });
    expect(args).toEqual(expect.arrayContaining(['--transfers=32', '--s3-upload-concurrency=3', '--s3-chunk-size=8388608B']));
    expect(args.join(' ')).not.toMatch(/ignore-checksum|no-head/);
  });
});

describe('asJsonLine', () => {
  it('rounds fractions and leaves whole numbers', () => {
    expect(asJsonLine({ wallS: 1.23456789, bytes: 10_737_418_240 })).toBe('{"wallS":1.2346,"bytes":10737418240}\n');
  });
});
