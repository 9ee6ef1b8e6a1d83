import { HeadBucketCommand, S3ServiceException, type S3Client } from '@aws-sdk/client-s3';
import type { Clock, MonotonicMs } from '../../shared/index.js';
import { DestinationPort } from '../application/destination.port.js';

/** Jobs come by the thousand and name a handful of buckets. */
const REMEMBERED_MS = 60_000;
/** An outage of S3 must not keep messages from being accepted. */
const TIMEOUT_MS = 3_000;

type Look = Awaited<ReturnType<DestinationPort['look']>>;

/**
 * Asks S3 with HeadBucket. Only 404 says that a bucket is missing: 403 is also said to a role that lacks `s3:ListBucket`, and 301 of a
 * bucket in another region. A missing one is asked for each time, so that a job sent again right after its creation finds it.
 */
export class S3DestinationAdapter extends DestinationPort {
  private readonly looks = new Map<string, { at: MonotonicMs; found: Promise<Look> }>();

  constructor(
    private readonly client: S3Client,
    private readonly clock: Clock,
  ) {
    super();
  }

  look(bucket: string): Promise<Look> {
    const now = this.clock.monotonicMs();
    const known = this.looks.get(bucket);
    if (known !== undefined && now - known.at < REMEMBERED_MS) return known.found;
    const found = this.ask(bucket);
    this.looks.set(bucket, { at: now, found });
    return found;
  }

  private async ask(bucket: string): Promise<Look> {
    try {
      await this.client.send(new HeadBucketCommand({ Bucket: bucket }), { abortSignal: AbortSignal.timeout(TIMEOUT_MS) });
      return 'there';
    } catch (error) {
      const isMissing = error instanceof S3ServiceException && error.$metadata.httpStatusCode === 404;
      if (isMissing) this.looks.delete(bucket);
      return isMissing ? 'missing' : 'unknown';
    }
  }
}
