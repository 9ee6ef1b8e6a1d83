import { TransferError } from './transfer-error.js';

/** What S3 answered: its code, and the permission that it says is missing, if it says so. */
export interface S3Refusal {
  code: string;
  status: number | undefined;
  permission: string | undefined;
}

/** What is missing where S3 does not name a permission. None of it is about one file. */
const MISSING: Readonly<Record<string, string>> = {
  AccessDenied: 's3:PutObject',
  // A 403 without a text.
  Forbidden: 's3:PutObject',
  NoSuchBucket: 'the bucket',
  AllAccessDisabled: 'access, which is disabled for everybody',
  AccountProblem: 'an account in good standing',
  PermanentRedirect: 'the region of the bucket as AWS_REGION',
  AuthorizationHeaderMalformed: 'the region of the bucket as AWS_REGION',
  'KMS.AccessDeniedException': 'kms:GenerateDataKey',
  'KMS.DisabledException': 'an enabled KMS key',
  'KMS.NotFoundException': 'the KMS key',
  'KMS.KMSInvalidStateException': 'a usable KMS key',
  'KMS.InvalidKeyUsageException': 'a KMS key for encryption',
};

/** Whether a code of S3 is about the bucket, or who may use it, and not about one file. */
export function isAboutBucket(code: string): boolean {
  return Object.hasOwn(MISSING, code);
}

/** The error for a store that will take no file as it is set up; undefined when the answer is about this one file, or may pass. */
export function destinationRefused(bucket: string, refusal: S3Refusal): TransferError | undefined {
  const { code, status, permission } = refusal;
  if (!isAboutBucket(code)) return undefined;
  const missing = permission ?? MISSING[code];
  return new TransferError('DESTINATION_REFUSED', `the bucket ${bucket} takes no files: ${code} (missing: ${missing})`, {
    retryable: false,
    ...(status === undefined ? {} : { httpStatus: status }),
  });
}

/** Whether it was the destination that refused a copy within S3, as far as the answer tells: it may be the source. */
export function isOfDestination({ code, permission }: S3Refusal): boolean {
  // The source has just been looked at, so its bucket is there; what is written is encrypted with a new data key.
  return code === 'NoSuchBucket' || permission === 's3:PutObject' || permission === 'kms:GenerateDataKey';
}
