import { PutBucketLifecycleConfigurationCommand, type LifecycleRule, type S3Client } from '@aws-sdk/client-s3';
import type { BucketDefinition } from '../resources.js';

/** Gives a bucket that exists the rules of its definition. */
export async function configureBucket(client: S3Client, { name, abortUploadsAfterDays, submissions }: BucketDefinition): Promise<void> {
  const rules: LifecycleRule[] = [
    {
      ID: 'abort-stale-uploads',
      Status: 'Enabled',
      Filter: { Prefix: '' },
      AbortIncompleteMultipartUpload: { DaysAfterInitiation: abortUploadsAfterDays },
    },
    {
      ID: 'expire-submitted-lists',
      Status: 'Enabled',
      Filter: { Prefix: submissions.prefix },
      Expiration: { Days: submissions.expireAfterDays },
    },
  ];
  await client.send(new PutBucketLifecycleConfigurationCommand({ Bucket: name, LifecycleConfiguration: { Rules: rules } }));
}
