import { PutBucketLifecycleConfigurationCommand, type LifecycleRule, type S3Client } from '@aws-sdk/client-s3';
import type { BucketDefinition } from '../resources.js';

/** Gives a bucket that exists the rules of its definition. */
export async function configureBucket(client: S3Client, { name, abortUploadsAfterDays }: BucketDefinition): Promise<void> {
  const rule: LifecycleRule = {
    ID: 'abort-stale-uploads',
    Status: 'Enabled',
    Filter: { Prefix: '' },
    AbortIncompleteMultipartUpload: { DaysAfterInitiation: abortUploadsAfterDays },
  };
  await client.send(new PutBucketLifecycleConfigurationCommand({ Bucket: name, LifecycleConfiguration: { Rules: [rule] } }));
}
