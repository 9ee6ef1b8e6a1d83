import { describe, expect, it } from '@jest/globals';
import { destinationRefused } from '../../../src/worker-pool/domain/destination-refusal.js';

describe('a destination that refuses', () => {
  it.each([
    { code: 'AccessDenied', missing: 's3:PutObject' },
    { code: 'AccessDenied', permission: 'kms:GenerateDataKey', missing: 'kms:GenerateDataKey' },
    { code: 'Forbidden', missing: 's3:PutObject' },
    { code: 'NoSuchBucket', missing: 'the bucket' },
    { code: 'AllAccessDisabled', missing: 'access, which is disabled for everybody' },
    { code: 'KMS.AccessDeniedException', missing: 'kms:GenerateDataKey' },
    { code: 'KMS.DisabledException', missing: 'an enabled KMS key' },
    { code: 'PermanentRedirect', missing: 'the region of the bucket as AWS_REGION' },
  ])('with $code is told with what is missing: $missing', ({ code, permission, missing }) => {
    expect(destinationRefused('exports', { code, permission, status: 403 })?.toFailure()).toEqual({
      code: 'DESTINATION_REFUSED',
      message: `the bucket exports takes no files: ${code} (missing: ${missing})`,
      httpStatus: 403,
      retryable: false,
    });
  });

  it.each([
    'ExpiredToken',
    'InvalidAccessKeyId',
    'RequestTimeTooSkewed',
    'SlowDown',
    'KMS.ThrottlingException',
    'BadDigest',
    'constructor',
  ])('is not what answers %s', (code) => {
    expect(destinationRefused('exports', { code, permission: undefined, status: 403 })).toBeUndefined();
  });
});
