import { describe, expect, it } from '@jest/globals';
import { isFramed, isMediaType, isRedirect, statusError } from '../../../src/worker-pool/domain/http-response.js';

describe('the status of a source', () => {
  it.each([408, 425, 429, 500, 502, 503, 504, 599])('%i is worth another try', (status) => {
    expect(statusError(status).toFailure()).toMatchObject({ code: `HTTP_${status}`, httpStatus: status, retryable: true });
  });

  it.each([201, 204, 206, 300, 304, 400, 401, 403, 404, 410, 416, 451])('%i fails at once', (status) => {
    expect(statusError(status).toFailure()).toMatchObject({ code: `HTTP_${status}`, httpStatus: status, retryable: false });
  });

  it.each([202, 403])('%i is worth another try where it comes with a wish for patience', (status) => {
    expect(statusError(status).toFailure()).toMatchObject({ retryable: false });
    expect(statusError(status, { retryAfterMs: 0 }).toFailure()).toMatchObject({ retryable: true, retryAfterMs: 0 });
    expect(statusError(status, { retryAfterHost: 'a.test' }).toFailure()).toMatchObject({ retryable: true, retryAfterHost: 'a.test' });
  });

  it('404 is not, whatever it comes with', () => {
    expect(statusError(404, { retryAfterMs: 1_000, retryAfterHost: 'a.test' }).toFailure()).toMatchObject({ retryable: false });
  });

  it.each([301, 302, 303, 307, 308])('%i redirects', (status) => expect(isRedirect(status)).toBe(true));
  it.each([300, 304, 305, 306])('%i does not redirect', (status) => expect(isRedirect(status)).toBe(false));
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
