import { S3ServiceException } from '@aws-sdk/client-s3';
import { expect, it } from '@jest/globals';
import { toStoreError } from '../../../../src/platform/s3/index.js';

const CALL = { bucket: 'exports', key: 'run-1/manifest.json', permission: 's3:PutObject' };
const said = (name: string, httpStatusCode: number) =>
  new S3ServiceException({ name, $fault: 'client', $metadata: { httpStatusCode }, message: name });

it.each([
  ['NoSuchBucket', 404],
  ['AccessDenied', 403],
  ['InvalidAccessKeyId', 403],
  ['KMS.DisabledException', 400],
  ['PermanentRedirect', 301],
  ['MethodNotAllowed', 405],
])('%s (%i) is a refusal: the same call would be refused again', (name, status) => {
  expect(toStoreError(CALL, said(name, status))).toMatchObject({
    code: name,
    mayPass: false,
    call: CALL,
    message: `s3:PutObject on s3://exports/run-1/manifest.json failed: ${name}`,
  });
});

it.each([
  ['InternalError', 500],
  ['SlowDown', 503],
  ['TooManyRequests', 429],
  ['RequestTimeout', 400],
  ['RequestTimeTooSkewed', 403],
  ['ExpiredToken', 400],
  ['KMS.ThrottlingException', 400],
  ['OperationAborted', 409],
  ['NoSuchUpload', 404],
])('%s (%i) may pass', (name, status) => {
  expect(toStoreError(CALL, said(name, status)).mayPass).toBe(true);
});

it.each(['TimeoutError', 'CredentialsProviderError'])('%s, an error without an answer, may pass', (name) => {
  expect(toStoreError(CALL, Object.assign(new Error(name), { name }))).toMatchObject({ code: name, mayPass: true });
});

it('keeps an error that is told in our words already', () => {
  const first = toStoreError({ ...CALL, key: 'segment' }, said('AccessDenied', 403));
  expect(toStoreError(CALL, first)).toBe(first);
});
