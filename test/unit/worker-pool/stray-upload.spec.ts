import { describe, expect, it } from '@jest/globals';
import { possibleStrays } from '../../../src/worker-pool/domain/stray-upload.js';

/** S3's clock, far from ours; the first try of our Create was 10 s ago. */
const NOW = 1_000_000;
const FIRST_TRY = NOW - 10_000;
const strays = (uploads: Record<string, number>, ours?: string) =>
  possibleStrays(
    { nowMs: NOW, uploads: Object.entries(uploads).map(([uploadId, initiatedMs]) => ({ uploadId, initiatedMs })) },
    10_000,
    ours,
  );

describe('what a lost answer to Create may have left', () => {
  it('was begun since our first try, give or take the second that S3 tells times in', () => {
    const uploads = { older: FIRST_TRY - 1_001, first: FIRST_TRY - 1_000, last: NOW };
    expect(strays(uploads)).toEqual(['first', 'last']);
  });

  it('was begun before the upload whose answer came, and is not that', () => {
    expect(strays({ lost: FIRST_TRY, ours: FIRST_TRY + 500, successors: FIRST_TRY + 501 }, 'ours')).toEqual(['lost']);
  });

  it('is nothing where the list does not show ours, or no times', () => {
    expect(strays({ another: NOW }, 'ours')).toEqual([]);
    expect(strays({ another: Number.NaN })).toEqual([]);
    expect(possibleStrays({ nowMs: Number.NaN, uploads: [{ uploadId: 'another', initiatedMs: NOW }] }, 10_000)).toEqual([]);
  });
});
