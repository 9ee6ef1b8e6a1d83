import type { S3Location } from './s3-uri.js';

/** A multipart upload that a task began. */
export interface TaskUpload extends S3Location {
  taskId: string;
  uploadId: string;
}
