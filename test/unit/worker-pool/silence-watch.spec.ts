import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { SilenceWatch } from '../../../src/worker-pool/threads/silence-watch.js';

let told: string[];
let watch: SilenceWatch;

beforeEach(() => {
  jest.useFakeTimers();
  told = [];
  watch = new SilenceWatch(({ type, payload }) => void told.push(`${type} ${'taskId' in payload ? payload.taskId : ''}`));
});
afterEach(() => void jest.useRealTimers());

describe('a source that is waited for', () => {
  it('is silent after more than 2 s, once, until it is heard', () => {
    const wait = watch.of('a');
    wait.begin();
    jest.advanceTimersByTime(2_000);
    expect(told).toEqual([]);
    jest.advanceTimersByTime(60_000);
    expect(told).toEqual(['TASK_SILENT a']);
    wait.heard();
    wait.begin();
    wait.heard();
    expect(told).toEqual(['TASK_SILENT a', 'TASK_HEARD a']);
    wait.begin();
    jest.advanceTimersByTime(2_500);
    expect(told).toEqual(['TASK_SILENT a', 'TASK_HEARD a', 'TASK_SILENT a']);
  });

  it('is silent since it was first asked, however often it is asked again', () => {
    const wait = watch.of('a');
    for (let second = 0; second < 3; second++) {
      wait.begin();
      jest.advanceTimersByTime(1_000);
    }
    expect(told).toEqual(['TASK_SILENT a']);
  });

  it('is not silent while it sends now and then', () => {
    const wait = watch.of('a');
    for (let second = 0; second < 60; second++) {
      wait.begin();
      jest.advanceTimersByTime(1_900);
      wait.heard();
    }
    expect(told).toEqual([]);
  });

  it('is not taken for silent because its thread was busy for seconds', () => {
    const wait = watch.of('a');
    wait.begin();
    // One tick is due afterwards, not twenty.
    jest.setSystemTime(Date.now() + 10_000);
    jest.advanceTimersByTime(500);
    wait.heard();
    expect(told).toEqual([]);
  });
});

it('a source that nobody waits for is not silent', () => {
  const wait = watch.of('a');
  jest.advanceTimersByTime(60_000);
  wait.begin();
  wait.heard();
  jest.advanceTimersByTime(60_000);
  expect(told).toEqual([]);
});

it('nothing is told of a task that has ended, and nothing ticks without tasks', () => {
  const [one, other] = [watch.of('one'), watch.of('other')];
  one.begin();
  other.begin();
  watch.end(one);
  jest.advanceTimersByTime(2_500);
  expect(told).toEqual(['TASK_SILENT other']);
  watch.end(other);
  expect(jest.getTimerCount()).toBe(0);
  watch.of('third').begin();
  jest.advanceTimersByTime(2_500);
  expect(told).toEqual(['TASK_SILENT other', 'TASK_SILENT third']);
});
