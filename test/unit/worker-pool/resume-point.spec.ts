import { describe, expect, it } from '@jest/globals';
import { resumeValidator, totalOfRest, type PartialAnswer, type ResumePoint } from '../../../src/worker-pool/domain/resume-point.js';

const NOON = 'Thu, 01 Jan 2026 12:00:00 GMT';
const LATER = 'Thu, 01 Jan 2026 12:01:00 GMT';

describe('the validator of a resume', () => {
  it.each([
    { why: 'a strong ETag', answer: { etag: '"v1"' }, validator: '"v1"' },
    { why: 'a strong ETag before any date', answer: { etag: '"v1"', lastModified: NOON, date: NOON }, validator: '"v1"' },
    { why: 'a date that had settled', answer: { lastModified: NOON, date: LATER }, validator: NOON },
    { why: 'a date that may still be written in', answer: { lastModified: NOON, date: 'Thu, 01 Jan 2026 12:00:59 GMT' } },
    { why: 'a date beside no clock', answer: { lastModified: NOON } },
    { why: 'no date at all', answer: { lastModified: 'yesterday', date: LATER } },
    { why: 'a weak ETag', answer: { etag: 'W/"v1"' } },
    { why: 'a weak ETag, whatever the date', answer: { etag: 'W/"v1"', lastModified: NOON, date: LATER } },
    { why: 'an ETag without quotes', answer: { etag: 'v1' } },
    { why: 'nothing', answer: {} },
  ])('of $why is $validator', ({ answer, validator }) => {
    expect(resumeValidator(answer)).toBe(validator);
  });
});

describe('an answer to the request for the rest', () => {
  const point: ResumePoint = { offset: 100, total: 1_000, validator: '"v1"', contentEncoding: undefined };
  const rest: PartialAnswer = { contentRange: 'bytes 100-999/1000', etag: '"v1"' };

  it.each([
    { why: 'it is the rest', answer: rest, at: point },
    { why: 'the unit is in capitals', answer: { ...rest, contentRange: 'Bytes 100-999/1000' }, at: point },
    { why: 'the whole was not known before', answer: rest, at: { ...point, total: undefined } },
    { why: 'the coding is the same', answer: { ...rest, contentEncoding: 'gzip' }, at: { ...point, contentEncoding: 'gzip' } },
    { why: 'the coding is not repeated', answer: rest, at: { ...point, contentEncoding: 'gzip' } },
    {
      why: 'the date is the same',
      answer: { contentRange: 'bytes 100-999/1000', lastModified: NOON },
      at: { ...point, validator: NOON },
    },
  ])('is taken when $why', ({ answer, at }) => {
    expect(totalOfRest(answer, at)).toBe(1_000);
  });

  it.each<{ why: string; answer: PartialAnswer; at?: ResumePoint }>([
    { why: 'starts elsewhere', answer: { ...rest, contentRange: 'bytes 99-999/1000' } },
    { why: 'starts at the beginning', answer: { ...rest, contentRange: 'bytes 0-999/1000' } },
    { why: 'ends before the end', answer: { ...rest, contentRange: 'bytes 100-998/1000' } },
    { why: 'has another total', answer: { ...rest, contentRange: 'bytes 100-1000/1001' } },
    { why: 'does not know its total', answer: { ...rest, contentRange: 'bytes 100-999/*' } },
    { why: 'is of no range', answer: { ...rest, contentRange: 'bytes */1000' } },
    { why: 'is in another unit', answer: { ...rest, contentRange: 'lines 100-999/1000' } },
    { why: 'has no Content-Range', answer: { etag: '"v1"' } },
    { why: 'is of several ranges', answer: { ...rest, contentType: 'multipart/byteranges; boundary=x' } },
    { why: 'is of another version', answer: { ...rest, etag: '"v2"' } },
    { why: 'is of a version it calls weak', answer: { ...rest, etag: 'W/"v1"' } },
    { why: 'does not name its version', answer: { contentRange: rest.contentRange ?? '' } },
    { why: 'has another date', answer: { ...rest, lastModified: LATER }, at: { ...point, validator: NOON } },
    { why: 'is in another coding', answer: { ...rest, contentEncoding: 'gzip' } },
  ])('is refused when it $why', ({ answer, at = point }) => {
    expect(() => totalOfRest(answer, at)).toThrow(expect.objectContaining({ code: 'NOT_RESUMABLE' }));
  });
});
