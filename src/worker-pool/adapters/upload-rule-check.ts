import { GetBucketLifecycleConfigurationCommand, type LifecycleRule, type S3Client } from '@aws-sdk/client-s3';
import { toLoggable, type AppLogger } from '../../shared/index.js';

const MEND = 'give the bucket a lifecycle rule with AbortIncompleteMultipartUpload, DaysAfterInitiation 7';

/**
 * Says which destination buckets have no lifecycle rule that ends stale multipart uploads: those of a process that was killed are found
 * by nothing else, and paid for until they end. Whether a rule's prefix is the right one is its owner's business.
 */
export class UploadRuleCheck {
  private readonly stopping = new AbortController();

  constructor(
    private readonly s3: Pick<S3Client, 'send'>,
    private readonly buckets: ReadonlySet<string>,
    private readonly logger: AppLogger,
  ) {}

  /** Waits for no answer: nothing depends on it. */
  start(): void {
    for (const bucket of this.buckets) void this.check(bucket);
  }

  stop(): void {
    this.stopping.abort();
  }

  private async check(bucket: string): Promise<void> {
    try {
      if ((await this.rulesOf(bucket)).some(endsUploads)) return;
      const reason = 'the multipart uploads of a process that is killed stay in it, invisible and paid for';
      this.logger.warn(`The bucket ${bucket} has no lifecycle rule for multipart uploads: ${reason}`, { bucket, mend: MEND });
    } catch (error) {
      // The permission is optional, and a store of another vendor may know no such rules.
      this.logger.debug('The lifecycle rules of a bucket cannot be read', { bucket, error: toLoggable(error) });
    }
  }

  private async rulesOf(bucket: string): Promise<LifecycleRule[]> {
    const command = new GetBucketLifecycleConfigurationCommand({ Bucket: bucket });
    try {
      return (await this.s3.send(command, { abortSignal: this.stopping.signal })).Rules ?? [];
    } catch (error) {
      if (error instanceof Error && error.name === 'NoSuchLifecycleConfiguration') return [];
      throw error;
    }
  }
}

function endsUploads({ Status, AbortIncompleteMultipartUpload: rule }: LifecycleRule): boolean {
  return Status === 'Enabled' && rule?.DaysAfterInitiation !== undefined;
}
