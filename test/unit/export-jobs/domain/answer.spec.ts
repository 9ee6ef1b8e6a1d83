import { describe, expect, it } from '@jest/globals';
import { failureAnswer, summarize, type FailedTask } from '../../../../src/export-jobs/domain/answer.js';
import type { JobErrorCode } from '../../../../src/export-jobs/domain/export-job.entity.js';
import { aJob, anOutcome, START_ISO } from '../../../support/builders.js';

const MAX_CAUSE_BYTES = 32_768;

const failed = (index: number, over: Partial<FailedTask> = {}): FailedTask => ({
  index,
  url: `https://origin.test/${index}?signature=secret#part`,
  key: `file-${index}`,
  code: 'HTTP_404',
  message: 'not found',
  ...over,
});

const many = (count: number, message: string) => Array.from({ length: count }, (_, index) => failed(index, { message }));
const causeOf = (message: string, failures: FailedTask[] = []) =>
  failureAnswer({ code: 'JobCompletedWithFailures', message }, { jobId: 'job-1' }, failures).cause;
const parse = (cause: string) => JSON.parse(cause) as { message: string; failures: FailedTask[] };

describe('failureAnswer', () => {
  it('holds the message, the summary and every failure that fits', () => {
    expect(parse(causeOf('two failed', [failed(3), failed(7)]))).toEqual({
      message: 'two failed',
      jobId: 'job-1',
      failures: [
        { ...failed(3), url: 'https://origin.test/3' },
        { ...failed(7), url: 'https://origin.test/7' },
      ],
    });
  });

  it('shows URLs without userinfo, query and fragment', () => {
    expect(causeOf('x', [failed(1, { url: 'https://user:pass@origin.test/a?signature=secret' })])).not.toMatch(/signature|secret|pass/);
  });

  it.each([
    ['one-byte characters', 'a'],
    ['two-byte characters', 'é'],
    ['three-byte characters', '漢'],
    ['characters outside the basic plane', '😀'],
    ['characters that JSON escapes', '"\\\n'],
  ])('cuts the cause to 32,768 bytes of valid JSON: %s', (_name, character) => {
    const cause = causeOf(character.repeat(40_000), many(500, character.repeat(1_000)));
    expect(Buffer.byteLength(cause)).toBeLessThanOrEqual(MAX_CAUSE_BYTES);
    const { message, failures } = parse(cause);
    expect(failures.length).toBeGreaterThan(5);
    expect(message.isWellFormed()).toBe(true);
    expect(failures.every((failure) => failure.message?.isWellFormed())).toBe(true);
  });

  it('cuts the cause to 32,768 bytes also when JSON writes each character of the message with six', () => {
    const cause = causeOf('\u0001'.repeat(40_000));
    expect(Buffer.byteLength(cause)).toBeLessThanOrEqual(MAX_CAUSE_BYTES);
    expect(parse(cause).message).toContain('\u0001');
  });

  it('fills what there is room for: one failure more would not fit', () => {
    const failures = many(500, 'x'.repeat(100));
    const shown = parse(causeOf('many', failures)).failures;
    const next = JSON.stringify({ ...failures[shown.length], url: `https://origin.test/${shown.length}` });
    expect(shown.length).toBeLessThan(500);
    expect(Buffer.byteLength(causeOf('many', failures)) + next.length + 1).toBeGreaterThan(MAX_CAUSE_BYTES);
  });

  it('shows the beginning of a URL that would leave no room for other failures', () => {
    const { failures } = parse(causeOf('x', [failed(0, { url: `https://origin.test/${'漢'.repeat(2_700)}` }), ...many(20, 'x')]));
    expect(failures).toHaveLength(21);
    expect(failures[0]?.url).toMatch(/^https:\/\/origin\.test\/%E6.*…$/);
  });

  it('keeps the error within 256 characters', () => {
    const answer = failureAnswer({ code: 'x'.repeat(300) as JobErrorCode, message: 'm' }, { jobId: null });
    expect(answer.error).toHaveLength(256);
  });
});

describe('summarize', () => {
  it('points to the result and repeats the numbers of the row', () => {
    const job = aJob({ status: 'FINALIZING', outcome: anOutcome(), completedTasks: 10, bytesProcessed: 100, metadata: { team: 'a' } });
    expect(summarize(job, 'run-1/manifest.json')).toEqual({
      jobId: 'job-1',
      exportId: 'export-1',
      userId: 'user-1',
      status: 'COMPLETED',
      totalTasks: 10,
      completedTasks: 10,
      failedTasks: 0,
      bytesProcessed: 100,
      startedAt: START_ISO,
      completedAt: START_ISO,
      attempt: 1,
      result: { bucket: 'exports', key: 'run-1/manifest.json' },
      metadata: { team: 'a' },
    });
  });

  it('is the same text however often a job is finished', () => {
    const job = aJob({ status: 'FINALIZING', outcome: anOutcome() });
    const later = { ...job, updatedAt: '2026-02-02T00:00:00.000Z' };
    expect(JSON.stringify(summarize(later, 'key'))).toBe(JSON.stringify(summarize(job, 'key')));
  });
});
