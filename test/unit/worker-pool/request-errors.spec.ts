import { expect, it } from '@jest/globals';
import { requestError } from '../../../src/worker-pool/threads/request-errors.js';

const failed = (code: string) => Object.assign(new Error('connect 10.0.0.7:443 with a secret'), { code });

it.each([
  ['ENOTFOUND', 'SOURCE_CONNECTION', 'there is no host files.test (ENOTFOUND)'],
  ['ECONNRESET', 'SOURCE_CONNECTION', 'the connection to files.test failed (ECONNRESET)'],
  ['ECONNREFUSED', 'SOURCE_UNREACHABLE', 'files.test cannot be reached (ECONNREFUSED)'],
  ['EAI_AGAIN', 'SOURCE_UNREACHABLE', 'files.test cannot be reached (EAI_AGAIN)'],
  ['UND_ERR_CONNECT_TIMEOUT', 'CONNECT_TIMEOUT', 'no connection to files.test in time'],
  ['CERT_HAS_EXPIRED', 'SOURCE_CERTIFICATE', 'the certificate of files.test is not trusted (CERT_HAS_EXPIRED)'],
  ['UND_ERR_HEADERS_OVERFLOW', 'SOURCE_PROTOCOL', 'files.test answered what is no usable HTTP (UND_ERR_HEADERS_OVERFLOW)'],
])('Host and cause of a failed request: %s is %s and names both, and no address', (code, name, message) => {
  expect(requestError(failed(code), { host: 'files.test', isRedirect: false })).toMatchObject({ code: name, message });
});

it('a failed request says whom it asked when a redirect led there, so that this host is waited for', () => {
  const options = { host: 'cdn.test', isRedirect: true };
  expect(requestError(failed('ECONNREFUSED'), options)).toMatchObject({ failedHost: 'cdn.test' });
  expect(requestError(failed('ECONNREFUSED'), { ...options, isRedirect: false })).not.toHaveProperty('failedHost', 'cdn.test');
});
