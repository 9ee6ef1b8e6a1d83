import { describe, expect, it } from '@jest/globals';
import { Checkpoint } from '../../../../src/batches/domain/checkpoint.js';
import { aBatch, aState } from '../../../support/builders.js';

const fresh = (totalTasks: number) => new Checkpoint(totalTasks, Checkpoint.empty(totalTasks));

describe('Checkpoint', () => {
  it('keeps what succeeded in a bitmap: bit 0 of byte 0 is the first task', () => {
    const checkpoint = fresh(10);
    for (const position of [0, 3, 9]) checkpoint.succeed(position, 10);
    expect([...checkpoint.whole().done]).toEqual([0b0000_1001, 0b0000_0010]);
    expect(checkpoint.whole()).toMatchObject({ completed: 3, failed: 0, bytes: 30 });
    expect(checkpoint.hasSucceeded(3)).toBe(true);
    expect(checkpoint.hasSucceeded(4)).toBe(false);
  });

  it('hands out what is neither done nor failed, in order', () => {
    const checkpoint = fresh(5);
    checkpoint.succeed(1, 10);
    checkpoint.fail(3, 'HTTP_404');
    expect(checkpoint.pending()).toEqual([0, 2, 4]);
  });

  it('records a task once, whatever is reported for it later', () => {
    const checkpoint = fresh(5);
    checkpoint.succeed(1, 10);
    checkpoint.succeed(1, 10);
    checkpoint.fail(1, 'HTTP_404');
    checkpoint.fail(2, 'HTTP_404');
    checkpoint.succeed(2, 10);
    expect(checkpoint.whole()).toMatchObject({ completed: 1, failed: 1, bytes: 10 });
  });

  it('goes on from a row and skips both what succeeded and what failed', () => {
    const checkpoint = new Checkpoint(5, aBatch({ ...aState([0, 4], [2]) }));
    expect(checkpoint.pending()).toEqual([1, 3]);
    checkpoint.succeed(1, 5);
    expect(checkpoint.whole()).toEqual({ ...aState([0, 4, 1], [2]), bytes: 25 });
  });

  it('does not share its state with the row it came from, nor with what it gives out', () => {
    const row = aBatch(aState([0], [1]));
    const checkpoint = new Checkpoint(5, row);
    const before = checkpoint.whole();
    checkpoint.succeed(2, 10);
    checkpoint.fail(3, 'HTTP_500');
    expect(row).toEqual(aBatch(aState([0], [1])));
    expect(before).toEqual(aState([0], [1]));
  });

  it('is complete at once without tasks', () => {
    expect(fresh(0).complete).toBe(true);
  });
});

describe('A flush never holds the last task', () => {
  it('when it succeeded', () => {
    const checkpoint = fresh(3);
    for (const position of [2, 0, 1]) checkpoint.succeed(position, 10);
    expect(checkpoint.complete).toBe(true);
    expect(checkpoint.flushable()).toEqual(aState([2, 0], [], 3));
    expect(checkpoint.whole()).toEqual(aState([2, 0, 1], [], 3));
  });

  it('when it failed', () => {
    const checkpoint = fresh(3);
    checkpoint.succeed(0, 10);
    checkpoint.succeed(1, 10);
    checkpoint.fail(2, 'HTTP_404');
    expect(checkpoint.flushable()).toEqual(aState([0, 1], [], 3));
  });

  it('when it is the only one', () => {
    const checkpoint = fresh(1);
    checkpoint.succeed(0, 10);
    expect(checkpoint.flushable()).toEqual(aState([], [], 1));
  });

  it('when another holder brought all the others', () => {
    const checkpoint = new Checkpoint(3, aBatch({ totalTasks: 3, ...aState([0, 1], [], 3) }));
    checkpoint.fail(2, 'HTTP_404');
    expect(checkpoint.flushable()).toEqual(aState([0, 1], [], 3));
  });

  it('and holds everything before that', () => {
    const checkpoint = fresh(3);
    checkpoint.succeed(0, 10);
    checkpoint.fail(1, 'HTTP_404');
    expect(checkpoint.flushable()).toEqual(checkpoint.whole());
  });
});
