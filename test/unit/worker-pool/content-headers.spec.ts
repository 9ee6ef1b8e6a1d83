import { describe, expect, it } from '@jest/globals';
import { contentHeaders } from '../../../src/worker-pool/domain/content-headers.js';

describe('what S3 is told of a content', () => {
  it.each([
    {
      why: 'both as they were',
      given: { contentType: 'text/csv; charset=utf-8', contentEncoding: 'gzip' },
      type: 'text/csv; charset=utf-8',
      coding: 'gzip',
    },
    { why: 'neither of none', given: {} },
    { why: 'no empty value', given: { contentType: '', contentEncoding: '' } },
    { why: 'nothing that no signature carries', given: { contentType: 'text/csv; name="Ã¼"', contentEncoding: 'g\tzip' } },
    { why: 'no value without end', given: { contentType: 'x'.repeat(256) } },
    { why: 'not how a store had wrapped it', given: { contentEncoding: 'aws-chunked' } },
    { why: 'the other codings of one that was wrapped', given: { contentEncoding: 'gzip,AWS-Chunked, br' }, coding: 'gzip, br' },
  ])('is $why', ({ given, type, coding }) => {
    expect(contentHeaders(given)).toEqual({
      ...(type !== undefined && { 'content-type': type }),
      ...(coding !== undefined && { 'content-encoding': coding }),
    });
  });
});
