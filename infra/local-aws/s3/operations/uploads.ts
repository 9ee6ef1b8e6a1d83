import { randomUUID } from 'node:crypto';
import { CHECKSUM_TYPES, isCrc, type ChecksumType } from '../body/checksum.js';
import { s3Error } from '../errors.js';
import type { Reply } from '../reply.js';
import type { S3Request } from '../request.js';
import type { UploadHead } from '../store/model.js';
import type { Store } from '../store/store.js';
import { leaf, s3Document } from '../xml.js';
import { readEntityHead, readWantedAlgorithm } from './entity.js';
import { readUpload } from './parts.js';

export function createMultipartUpload(request: S3Request, store: Store): Reply {
  const bucket = store.bucket(request.bucket);
  const checksum = readUploadChecksum(request);
  const upload: UploadHead = {
    ...readEntityHead(request),
    key: request.key,
    uploadId: randomUUID().replaceAll('-', ''),
    initiatedIso: new Date().toISOString(),
    ...(checksum && { checksum }),
  };
  bucket.startUpload(upload);
  request.detail['uploadId'] = upload.uploadId;
  return {
    status: 200,
    headers: checksum ? { 'x-amz-checksum-algorithm': checksum.algorithm, 'x-amz-checksum-type': checksum.type } : {},
    body: s3Document(
      'InitiateMultipartUploadResult',
      leaf('Bucket', bucket.name),
      leaf('Key', upload.key),
      leaf('UploadId', upload.uploadId),
    ),
  };
}

export function abortMultipartUpload(request: S3Request, store: Store): Reply {
  const upload = readUpload(request, store);
  store.bucket(request.bucket).abortUpload(upload);
  return { status: 204 };
}

function readUploadChecksum(request: S3Request): UploadHead['checksum'] {
  const algorithm = readWantedAlgorithm(request);
  const wanted = readChecksumType(request);
  if (algorithm === undefined) {
    if (wanted === undefined) return undefined;
    throw s3Error('InvalidRequest', 'The x-amz-checksum-type header can only be used with the x-amz-checksum-algorithm header.');
  }
  const type = wanted ?? (algorithm === 'CRC64NVME' ? 'FULL_OBJECT' : 'COMPOSITE');
  if (type === 'FULL_OBJECT' ? !isCrc(algorithm) : algorithm === 'CRC64NVME') {
    throw s3Error('InvalidRequest', `The ${type} checksum type cannot be used with the ${algorithm.toLowerCase()} checksum algorithm.`);
  }
  return { algorithm, type };
}

/** @throws InvalidRequest */
export function readChecksumType(request: S3Request): ChecksumType | undefined {
  const name = request.header('x-amz-checksum-type');
  const type = CHECKSUM_TYPES.find((known) => known === name);
  if (name !== undefined && type === undefined) throw s3Error('InvalidRequest', 'Value for x-amz-checksum-type header is invalid.');
  return type;
}
