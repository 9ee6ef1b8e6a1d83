import { AppError } from './errors.js';

/** An object of ours in S3, and what was asked of it. */
export interface StoreCall {
  bucket: string;
  key: string;
  /** The permission that the call takes, such as `s3:PutObject`. */
  permission: string;
}

/** What S3 answered to such a call; `code` is its own. `mayPass` false: refused for good, as far as anyone can tell. */
export class StoreError extends AppError {
  readonly call: StoreCall;
  readonly mayPass: boolean;
  /** As every error of AWS says it. */
  readonly awsService = 'S3';
  readonly awsOperation: string;
  readonly awsResource: string;

  constructor(call: StoreCall, code: string, options: { mayPass: boolean; cause?: unknown }) {
    const { bucket, key, permission } = call;
    super(code, `${permission} on s3://${bucket}/${key} failed: ${code}`, {
      disposition: options.mayPass ? 'retry' : 'fatal',
      cause: options.cause,
    });
    this.name = 'StoreError';
    this.call = call;
    this.awsOperation = permission.replace('s3:', '');
    this.awsResource = bucket;
    this.mayPass = options.mayPass;
  }
}

/** A bucket is not there, or a permission is missing: the same call again would be refused again. */
export function isRefusedByStore(error: unknown): error is StoreError {
  return error instanceof StoreError && !error.mayPass;
}
