import { AbortMultipartUploadCommand, NoSuchUpload, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { getEndpointFromInstructions } from '@smithy/core/endpoints';
import { equip, SharedCredentials } from '../../platform/aws/index.js';
import type { BucketAccess } from '../domain/bucket-access.js';
import type { TaskUpload } from '../domain/task-upload.js';

/**
 * Where buckets are and who asks, as the SDK knows it: its chain of credentials, its endpoint rules and the settings of both (FIPS,
 * dual stack, China, dots in names, an endpoint of another vendor).
 */
export class S3Access {
  private readonly client: S3Client;

  constructor(
    { region, s3CustomEndpoint }: { region: string; s3CustomEndpoint: boolean },
    private readonly credentials = SharedCredentials.ofChain(region),
  ) {
    this.client = new S3Client({ region, forcePathStyle: s3CustomEndpoint, maxAttempts: 1, credentials: credentials.provider });
    equip(this.client, 'S3', credentials);
  }

  /**
   * @param refusedKeyId of credentials that S3 has refused: others are asked for
   * @throws the SDK's errors: no credentials, or a name that is no bucket's
   */
  async of(bucket: string, refusedKeyId?: string): Promise<BucketAccess> {
    const { config } = this.client;
    if (refusedKeyId !== undefined) await this.credentials.replace(({ accessKeyId }) => accessKeyId === refusedKeyId);
    const endpoint = await getEndpointFromInstructions({ Bucket: bucket }, PutObjectCommand, config);
    const { accessKeyId, secretAccessKey, sessionToken, expiration } = await this.credentials.get();
    return {
      url: endpoint.url.href.replace(/\/$/, ''),
      region: await config.region(),
      credentials: { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) },
      ...(expiration === undefined ? {} : { expiresAt: expiration.getTime() }),
    };
  }

  /** One try; an upload that is not there any more counts as aborted. @throws the SDK's other errors */
  async abortUpload({ bucket, key, uploadId }: TaskUpload, abortSignal: AbortSignal): Promise<void> {
    try {
      await this.client.send(new AbortMultipartUploadCommand({ Bucket: bucket, Key: key, UploadId: uploadId }), { abortSignal });
    } catch (error) {
      if (!(error instanceof NoSuchUpload)) throw error;
    }
  }

  /** Ends its connections. */
  close(): void {
    this.client.destroy();
  }
}
