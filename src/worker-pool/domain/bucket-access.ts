export interface AwsCredentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

/** How a bucket is reached: where, and as whom. */
export interface BucketAccess {
  /** Of the bucket itself, by host or by path, without a slash at its end. */
  url: string;
  /** Region of the signature. */
  region: string;
  credentials: AwsCredentials;
  /** Milliseconds since the epoch; absent for credentials that do not end. */
  expiresAt?: number;
}
