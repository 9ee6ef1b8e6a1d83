import { describe, expect, it } from '@jest/globals';
import { isFramed, isMediaType, isRedirect, parseRetryAfterMs, statusError } from '../../../src/worker-pool/domain/http-response.js';

describe('the status of a source', () => {
  it.each([408, 425, 429, 500, 502, 503, 504, 599])('%i is worth another try', (status) => {
    expect(statusError(status).toFailure()).toMatchObject({ code: `HTTP_${status}`, httpStatus: status, retryable: true });
  });

  it.each([201, 204, 206, 300, 304, 400, 401, 403, 404, 410, 416, 451])('%i fails at once', (status) => {
    expect(statusError(status).toFailure()).toMatchObject({ code: `HTTP_${status}`, httpStatus: status, retryable: false });
  });

  it.each([301, 302, 303, 307, 308])('%i redirects', (status) => expect(isRedirect(status)).toBe(true));
  it.each([300, 304, 305, 306])('%i does not redirect', (status) => expect(isRedirect(status)).toBe(false));
});

describe('Retry-After', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');

  it.each([
    { value: '7', ms: 7_000 },
    { value: ' 0 ', ms: 0 },
    { value: '86400', ms: 300_000 },
    { value: 'Thu, 01 Jan 2026 00:00:30 GMT', ms: 30_000 },
    { value: 'Thu, 01 Jan 2025 00:00:00 GMT', ms: 0 },
    { value: 'soon', ms: undefined },
    { value: undefined, ms: undefined },
  ])('$value is $ms ms', ({ value, ms }) => {
    expect(parseRetryAfterMs(value, now)).toBe(ms);
  });
});

describe('the expected content type', () => {
  it.each([
    { given: 'text/CSV; charset=utf-8', expected: 'text/csv', same: true },
    { given: 'text/html', expected: 'text/csv', same: false },
    { given: undefined, expected: 'text/csv', same: false },
  ])('$expected fits $given: $same', ({ given, expected, same }) => {
    expect(isMediaType(given, expected)).toBe(same);
  });
});

describe('the framing of an answer', () => {
  it.each([
    { length: 5, coding: undefined, framed: true },
    { length: undefined, coding: undefined, framed: false },
    { length: undefined, coding: 'chunked', framed: true },
    { length: undefined, coding: 'Chunked  ', framed: true },
  ])('of length $length and coding $coding shows a cut: $framed', ({ length, coding, framed }) => {
    expect(isFramed(length, coding)).toBe(framed);
  });

  it.each(['', 'identity', 'gzip', 'gzip, chunked', 'chunked, identity', 'chunked, chunked', 'chunked\t', 'chunked\u00a0'])(
    'in the coding %j is refused',
    (coding) => {
      expect(() => isFramed(undefined, coding)).toThrow(expect.objectContaining({ code: 'TRANSFER_CODING', disposition: 'reject' }));
    },
  );
});
