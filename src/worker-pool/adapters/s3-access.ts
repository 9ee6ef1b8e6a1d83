import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { getEndpointFromInstructions } from '@smithy/core/endpoints';
import type { BucketAccess } from '../domain/bucket-access.js';

/**
 * Where buckets are and who asks, as the SDK knows it: its chain of credentials, its endpoint rules and the settings of both (FIPS,
 * dual stack, China, dots in names, an endpoint of another vendor).
 */
export class S3Access {
  private readonly client: S3Client;

  constructor({ region, s3CustomEndpoint }: { region: string; s3CustomEndpoint: boolean }) {
    this.client = new S3Client({ region, forcePathStyle: s3CustomEndpoint });
  }

  /** @throws the SDK's errors: no credentials, or a name that is no bucket's */
  async of(bucket: string): Promise<BucketAccess> {
    const { config } = this.client;
    const endpoint = await getEndpointFromInstructions({ Bucket: bucket }, PutObjectCommand, config);
    const { accessKeyId, secretAccessKey, sessionToken, expiration } = await config.credentials();
    return {
      url: endpoint.url.href.replace(/\/$/, ''),
      region: await config.region(),
      credentials: { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) },
      ...(expiration === undefined ? {} : { expiresAt: expiration.getTime() }),
    };
  }
}
