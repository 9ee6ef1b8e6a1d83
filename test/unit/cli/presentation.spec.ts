import { describe, expect, it } from '@jest/globals';
import {
  facts,
  formatBytes,
  failureLines,
  formatDuration,
  formatShortDuration,
  groupFailures,
  printable,
  ProgressDisplay,
  reasonOf,
  sentence,
  table,
  widthOf,
  withoutMiddle,
  wrapped,
  type Progress,
} from '../../../src/cli/presentation/index.js';
import { bar, progressLine } from '../../../src/cli/presentation/progress-display.js';
import { RateMeter } from '../../../src/cli/presentation/rate-meter.js';

describe('formatBytes', () => {
  it.each([
    [0, '0 B'],
    [999, '999 B'],
    [1_500, '1.5 KB'],
    [999_949, '999.9 KB'],
    [999_950, '1.0 MB'],
    [40_000_000, '40.0 MB'],
    [5e18, '5000.0 PB'],
  ])('shows %d as %s', (bytes, text) => expect(formatBytes(bytes)).toBe(text));
});

describe('formatDuration', () => {
  it.each([
    [-5, '0 s'],
    [59_499, '59 s'],
    [59_500, '1 min 00 s'],
    [185_000, '3 min 05 s'],
    [7_620_000, '2 h 07 min'],
    [360_000_000, '4 d 04 h'],
  ])('shows %d ms as %s', (ms, text) => expect(formatDuration(ms)).toBe(text));
});

describe('table', () => {
  it('makes columns as wide as their widest cell and sets numbers to the right', () => {
    const columns = [{ title: 'JOB' }, { title: 'DONE', align: 'right' as const }];
    expect(table(columns, [['job-1', '7'], ['j', '12345']])).toBe('JOB     DONE\njob-1      7\nj      12345\n'); // prettier-ignore
  });

  it('leaves a fact without a value out', () => {
    expect(facts([['Job', 'a'], ['Error', undefined], ['Status', 'FAILED']])).toBe('Job     a\nStatus  FAILED\n'); // prettier-ignore
  });
});

describe('a table that must fit', () => {
  const columns = [
    { title: 'JOB', shorten: 'end' as const },
    { title: 'HELD BY', shorten: 'start' as const },
    { title: 'TYPE', wideOnly: true as const },
    { title: 'DONE', align: 'right' as const },
  ];
  const uuid = (begin: string) => `${begin}-0000-4000-8000-000000000000`;
  const row = (id: string) => [id, 'ip-10-0-0-1.internal-4711-a1b2c3d4', 'download', '12345'];

  it('leaves out columns, the starts of names, and the ends of ids that are unique without', () => {
    const lines = table(columns, [row(uuid('aaaaaaaa')), row(uuid('bbbbbbbb'))], 40).split('\n');
    expect(lines[0]).not.toContain('TYPE');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(40);
    expect(lines[1]).toMatch(/^aaaaaaaa {2}…\S*b2c3d4 {2}12345$/);
  });

  it('leaves out the middle of ids that only their ends tell apart', () => {
    const ids = ['nightly-export-of-everything-1', 'nightly-export-of-everything-2'];
    const text = table(columns.slice(0, 1), ids.map((id) => [id]), 16); // prettier-ignore
    expect(text).toBe('JOB\nnightly-…thing-1\nnightly-…thing-2\n');
  });

  it('is whole without a width', () => {
    expect(table(columns, [row(uuid('aaaaaaaa'))])).toContain(`${uuid('aaaaaaaa')}  ip-10-0-0-1.internal-4711-a1b2c3d4  download`);
  });
});

describe('wrapped', () => {
  it('breaks at blanks, keeps the indent, and cuts no word', () => {
    expect(wrapped('  one two three s3://bucket/a-long-key', 12)).toBe('  one two\n  three\n  s3://bucket/a-long-key');
    expect(wrapped('short', 80)).toBe('short');
  });

  it('keeps the lines of facts in their column', () => {
    expect(facts([['Error', 'one two three']], 14)).toBe('Error  one two\n       three\n');
  });
});

describe('failures by reason', () => {
  const failure = (key: string, code: string) => ({ key, code, message: `is\n${code}` });

  it('are counted, the most frequent first, with the first files of each', async () => {
    const failures = [failure('z', 'HTTP_500'), ...['in/a', 'b', 'c', 'd', 'e'].map((key) => failure(key, 'HTTP_404'))];
    expect(failureLines(await groupFailures(failures), { total: 9, prefix: 'in/', width: 80 })).toEqual([
      '  5 × HTTP_404: is HTTP_404',
      '      a',
      '      b',
      '      c',
      '      … and 2 more',
      '  1 × HTTP_500: is HTTP_500',
      '      z',
      '  … and 3 more, not looked at',
    ]);
  });

  it('fit a width', async () => {
    const lines = failureLines(await groupFailures([failure('k'.repeat(100), 'HTTP_404')]), { total: 1, prefix: '', width: 40 });
    expect(lines[1]).toHaveLength(40);
  });
});

describe('names of others', () => {
  const failure = (key: string) => ({ key, code: 'HTTP_404', message: 'gone' });

  it('never steer a terminal: control and bidirectional characters are escaped', async () => {
    expect(printable('a\u001B[2J\nb\u202E\u009B\u2028\uD83D')).toBe(String.raw`a\u001b[2J\u000ab\u202e\u009b\u2028\ud83d`);
    const lines = failureLines(await groupFailures([failure('a\r\u001B[1A\u202Efdp')]), { total: 1, prefix: '', width: 80 });
    expect(lines[1]).toBe(String.raw`      a\u000d\u001b[1A\u202efdp`);
    expect(table([{ title: 'JOB' }], [['a\nb']])).toBe('JOB\na\\u000ab\n');
    expect(facts([['Export', 'a\u001B[2J']])).toBe('Export  a\\u001b[2J\n');
    expect(sentence('one\u001B[2J\ntwo', { isTty: false, columns: 80 })).toBe('one\\u001b[2J\ntwo');
  });

  it('are cut between characters only', () => {
    expect(withoutMiddle('🎉'.repeat(10), 8)).toBe('🎉🎉…🎉');
    expect(withoutMiddle('e\u0301'.repeat(10), 5)).toBe('e\u0301e\u0301…e\u0301e\u0301');
    expect([widthOf('日本ab'), widthOf('ﾊﾝ'), widthOf('e\u0301'), widthOf('👩‍👩‍👧')]).toEqual([6, 2, 1, 2]);
  });

  it('keep to the width where their characters take two columns', async () => {
    const lines = failureLines(await groupFailures([failure(`${'文'.repeat(50)}.pdf`)]), { total: 1, prefix: '', width: 40 });
    expect(widthOf(lines[1] ?? '')).toBeLessThanOrEqual(40);
    expect(lines[1]).toMatch(/^ {6}文+…文+\.pdf$/);
    const rows = table(
      [{ title: 'JOB', shorten: 'end' }, { title: 'DONE' }],
      [
        ['文書'.repeat(20), '1'],
        ['ab', '2'],
      ],
      30,
    ).split('\n');
    expect(rows.map((row) => widthOf(row) <= 30)).not.toContain(false);
    expect(widthOf(rows[1] ?? '')).toBe(widthOf(rows[2] ?? ''));
  });
});

describe('formatShortDuration', () => {
  it.each([
    [42_000, '42s'],
    [185_000, '3m05s'],
    [7_620_000, '2h07m'],
    [360_000_000, '4d04h'],
  ])('shows %d ms as %s', (ms, text) => expect(formatShortDuration(ms)).toBe(text));
});

describe('RateMeter', () => {
  it('knows no rate and no ETA before something has moved', () => {
    const meter = new RateMeter();
    expect([meter.tasksPerSecond, meter.etaMs(5)]).toEqual([0, undefined]);
    meter.add({ atMs: 0, tasks: 3, bytes: 10 });
    meter.add({ atMs: 1_000, tasks: 3, bytes: 10 });
    expect([meter.tasksPerSecond, meter.etaMs(5)]).toEqual([0, undefined]);
  });

  it('divides what was done by the time between the first and the last look', () => {
    const meter = new RateMeter();
    meter.add({ atMs: 500, tasks: 10, bytes: 0 });
    meter.add({ atMs: 2_500, tasks: 20, bytes: 4_000 });
    expect([meter.tasksPerSecond, meter.bytesPerSecond, meter.etaMs(10)]).toEqual([5, 2_000, 2_000]);
  });

  it('forgets what is older than half a minute', () => {
    const meter = new RateMeter();
    meter.add({ atMs: 0, tasks: 0, bytes: 0 });
    meter.add({ atMs: 10_000, tasks: 1_000, bytes: 0 });
    meter.add({ atMs: 40_000, tasks: 1_030, bytes: 0 });
    expect(meter.tasksPerSecond).toBe(1);
  });
});

describe('progressLine', () => {
  const rate = { tasksPerSecond: 4.12, bytesPerSecond: 2_000_000, etaMs: (tasks: number) => tasks * 250 };
  const still = { tasksPerSecond: 0, bytesPerSecond: 0, etaMs: () => undefined };

  it('shows counts, failures, bytes, rate and ETA', () => {
    const progress = { label: 'DOWNLOADING', completed: 46, failed: 1, total: 100, bytes: 12_300_000 };
    expect(progressLine(progress, rate)).toBe(
      'DOWNLOADING  [███████████░░░░░░░░░░░░░]  47/100 (47%)  ETA 13 s  1 failed  12.3 MB  4.1 files/s  2.0 MB/s',
    );
  });

  it('shows for whom its files wait, and the rate of files in hand', () => {
    const progress = { label: 'DOWNLOADING', completed: 0, failed: 0, total: 3, bytes: 12_300_000, waits: 'h.test until 00:05:00 Z' };
    expect(progressLine(progress, { ...still, bytesPerSecond: 1_700_000 })).toBe(
      `DOWNLOADING  ${bar(0)}  0/3 (0%)  waits for h.test until 00:05:00 Z  12.3 MB  1.7 MB/s`,
    );
  });

  it('shows no share of an unknown total, and no ETA without a rate', () => {
    expect(progressLine({ label: 'PROCESSING', completed: 0, failed: 0, bytes: 0 }, still)).toBe(`PROCESSING  ${bar(0)}  0/?  0 B`);
  });

  it.each([[79], [60], [40], [25]])('keeps to %d columns by losing fields, never a part of one', (columns) => {
    const progress = { label: 'DOWNLOADING', completed: 46, failed: 1, total: 100, bytes: 12_300_000 };
    const line = progressLine(progress, rate, columns);
    expect(line.length).toBeLessThanOrEqual(columns);
    expect(line).toContain('47/100 (47%)');
    for (const field of line.split('  ')) expect(`${progressLine(progress, rate)}  ${bar(0.47, 10)}`).toContain(field);
  });

  it('shows neither ETA nor rate of a job that has ended', () => {
    const progress = { label: 'CANCELLED', completed: 46, failed: 1, total: 100, bytes: 0, ended: true };
    expect(progressLine(progress, rate)).toBe(`CANCELLED  ${bar(0.47)}  47/100 (47%)  1 failed  0 B`);
  });

  it('takes an export of no files for done', () => {
    expect(progressLine({ label: 'COMPLETED', completed: 0, failed: 0, total: 0, bytes: 0 }, still)).toBe(
      `COMPLETED  ${bar(1)}  0/0 (100%)  0 B`,
    );
  });
});

describe('ProgressDisplay', () => {
  const at = (completed: number, label = 'DOWNLOADING'): Progress => ({ label, completed, failed: 0, total: 10, bytes: 0 });
  const recorder = (isTty: boolean, columns = 200) => {
    const written: string[] = [];
    return { written, output: { isTty, columns, write: (text: string) => void written.push(text) } };
  };

  it('rewrites one line of a terminal, which loses fields where it is narrow', () => {
    const { written, output } = recorder(true, 28);
    const display = new ProgressDisplay(output);
    display.show(at(1), 0);
    display.show(at(2), 100);
    display.end();
    expect(written).toEqual(['\r\u001B[KDOWNLOADING  1/10 (10%)', '\r\u001B[KDOWNLOADING  2/10 (20%)', '\n']);
  });

  it('writes elsewhere a line every 5 s when something moved, and at each new status', () => {
    const { written, output } = recorder(false);
    const display = new ProgressDisplay(output);
    const shown = [at(0), at(1), at(1), at(2), at(2, 'COMPLETED')];
    for (const [index, progress] of shown.entries()) display.show(progress, [0, 4_999, 5_000, 9_999, 10_000][index]);
    display.end();
    expect(written.map((line) => line.split('  ')[2])).toEqual(['0/10 (0%)', '1/10 (10%)', '2/10 (20%)']);
    expect(written.every((line) => line.endsWith('\n'))).toBe(true);
  });
});

describe('reasonOf', () => {
  it.each([
    ['{"message":"2 of 3 tasks failed","jobId":"a"}', '2 of 3 tasks failed'],
    ['{"other":1}', 'no message'],
    ['No heartbeat in time', 'No heartbeat in time'],
    [undefined, 'no cause'],
  ])('reads %s as %s', (cause, reason) => expect(reasonOf(cause)).toBe(reason));
});
