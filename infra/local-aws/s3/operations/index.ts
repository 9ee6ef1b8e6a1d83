import type { Reply } from '../reply.js';
import type { S3Operation, S3Request } from '../request.js';
import type { Store } from '../store/store.js';
import { createBucket, getLifecycle, headBucket, putLifecycle } from './buckets.js';
import { completeMultipartUpload } from './complete.js';
import { copyObject, uploadPartCopy } from './copy.js';
import { listMultipartUploads, listObjectsV2, listParts } from './listings.js';
import { deleteObject, deleteObjects, getObject, putObject } from './objects.js';
import { uploadPart } from './parts.js';
import { abortMultipartUpload, createMultipartUpload } from './uploads.js';

/** What each operation does. @throws S3Error for the answers that are errors */
export const OPERATIONS: Record<S3Operation, (request: S3Request, store: Store) => Reply | Promise<Reply>> = {
  CreateBucket: createBucket,
  HeadBucket: headBucket,
  PutBucketLifecycleConfiguration: putLifecycle,
  GetBucketLifecycleConfiguration: getLifecycle,
  ListObjectsV2: listObjectsV2,
  ListMultipartUploads: listMultipartUploads,
  DeleteObjects: deleteObjects,
  PutObject: putObject,
  CopyObject: copyObject,
  GetObject: getObject,
  HeadObject: getObject,
  DeleteObject: deleteObject,
  CreateMultipartUpload: createMultipartUpload,
  UploadPart: uploadPart,
  UploadPartCopy: uploadPartCopy,
  ListParts: listParts,
  CompleteMultipartUpload: completeMultipartUpload,
  AbortMultipartUpload: abortMultipartUpload,
};
