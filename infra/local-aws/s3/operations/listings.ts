import { s3Error } from '../errors.js';
import { quoted, type Reply } from '../reply.js';
import type { S3Request } from '../request.js';
import type { StoredObject, Upload } from '../store/model.js';
import type { Store } from '../store/store.js';
import { leaf, node, s3Document } from '../xml.js';
import { MAX_PARTS, readUpload } from './parts.js';

const MAX_PAGE = 1_000;

export function listObjectsV2(request: S3Request, store: Store): Reply {
  const bucket = store.bucket(request.bucket);
  const { query } = request;
  if (query.get('list-type') !== '2') throw s3Error('NotImplemented');
  const [prefix, delimiter] = [query.get('prefix') ?? '', query.get('delimiter') ?? ''];
  const [token, startAfter] = [query.get('continuation-token'), query.get('start-after')];
  const maxKeys = Math.min(request.number('max-keys', MAX_PAGE, { min: 0, max: 2 ** 31 - 1 }), MAX_PAGE);
  const shown = keyEncoder(query.get('encoding-type'));
  const page = pageOfKeys(bucket.keys(), { prefix, delimiter, maxKeys, after: token === null ? startAfter : readToken(token) });
  return {
    status: 200,
    body: s3Document(
      'ListBucketResult',
      leaf('Name', bucket.name),
      leaf('Prefix', shown(prefix)),
      leaf('Delimiter', delimiter === '' ? undefined : shown(delimiter)),
      leaf('MaxKeys', maxKeys),
      leaf('KeyCount', page.keys.length + page.commonPrefixes.length),
      leaf('IsTruncated', page.last !== undefined),
      leaf('EncodingType', query.get('encoding-type') ?? undefined),
      leaf('StartAfter', startAfter === null ? undefined : shown(startAfter)),
      leaf('ContinuationToken', token ?? undefined),
      leaf('NextContinuationToken', page.last && Buffer.from(page.last).toString('base64url')),
      ...page.keys.map((key) => objectElement(bucket.object(key), shown)),
      ...page.commonPrefixes.map((common) => node('CommonPrefixes', leaf('Prefix', shown(common)))),
    ),
  };
}

interface PageRequest {
  prefix: string;
  delimiter: string;
  maxKeys: number;
  /** The key or common prefix after which the page begins. */
  after: string | null;
}

interface Page {
  keys: string[];
  commonPrefixes: string[];
  /** Where to go on; undefined on the last page. */
  last?: string;
}

function pageOfKeys(keys: readonly string[], { prefix, delimiter, maxKeys, after }: PageRequest): Page {
  const page: Page = { keys: [], commonPrefixes: [] };
  const afterBytes = after === null ? undefined : Buffer.from(after);
  let last: string | undefined;
  for (const key of keys) {
    if (!key.startsWith(prefix)) continue;
    const cut = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length);
    const entry = cut < 0 ? key : key.slice(0, cut + delimiter.length);
    if (entry === last || (afterBytes && Buffer.from(entry).compare(afterBytes) <= 0)) continue;
    if (page.keys.length + page.commonPrefixes.length === maxKeys) return last === undefined ? page : { ...page, last };
    (cut < 0 ? page.keys : page.commonPrefixes).push(entry);
    last = entry;
  }
  return page;
}

function objectElement({ key, size, etag, lastModifiedIso, checksum }: StoredObject, shown: (key: string) => string): string {
  return node(
    'Contents',
    leaf('Key', shown(key)),
    leaf('LastModified', lastModifiedIso),
    leaf('ETag', quoted(etag)),
    leaf('ChecksumAlgorithm', checksum?.algorithm),
    leaf('ChecksumType', checksum?.type),
    leaf('Size', size),
    leaf('StorageClass', 'STANDARD'),
  );
}

function keyEncoder(encodingType: string | null): (key: string) => string {
  if (encodingType === null) return (key) => key;
  if (encodingType !== 'url') throw s3Error('InvalidArgument', 'Invalid Encoding Method specified in Request');
  return (key) => encodeURIComponent(key).replaceAll('%2F', '/');
}

function readToken(token: string): string {
  const key = Buffer.from(token, 'base64url');
  if (token === '' || key.toString('base64url') !== token) throw s3Error('InvalidArgument', 'The continuation token provided is incorrect');
  return key.toString();
}

export function listMultipartUploads(request: S3Request, store: Store): Reply {
  const bucket = store.bucket(request.bucket);
  const { query } = request;
  const prefix = query.get('prefix') ?? '';
  const maxUploads = request.number('max-uploads', MAX_PAGE, { min: 1, max: MAX_PAGE });
  const [keyMarker, idMarker] = [query.get('key-marker') ?? '', query.get('upload-id-marker') ?? ''];
  const isAfterMarker = (upload: Upload): boolean => {
    const order = Buffer.from(upload.key).compare(Buffer.from(keyMarker));
    return order > 0 || (order === 0 && idMarker !== '' && upload.uploadId > idMarker);
  };
  const uploads = bucket
    .uploads()
    .filter((upload) => upload.key.startsWith(prefix) && isAfterMarker(upload))
    .sort((a, b) => Buffer.from(a.key).compare(Buffer.from(b.key)) || (a.uploadId < b.uploadId ? -1 : 1));
  const page = uploads.slice(0, maxUploads);
  const last = uploads.length > page.length ? page.at(-1) : undefined;
  return {
    status: 200,
    body: s3Document(
      'ListMultipartUploadsResult',
      leaf('Bucket', bucket.name),
      leaf('KeyMarker', keyMarker),
      leaf('UploadIdMarker', idMarker),
      leaf('NextKeyMarker', last?.key),
      leaf('NextUploadIdMarker', last?.uploadId),
      leaf('Prefix', prefix),
      leaf('MaxUploads', maxUploads),
      leaf('IsTruncated', last !== undefined),
      ...page.map(uploadElement),
    ),
  };
}

function uploadElement({ key, uploadId, initiatedIso, checksum }: Upload): string {
  return node(
    'Upload',
    leaf('Key', key),
    leaf('UploadId', uploadId),
    leaf('StorageClass', 'STANDARD'),
    leaf('Initiated', initiatedIso),
    leaf('ChecksumAlgorithm', checksum?.algorithm),
    leaf('ChecksumType', checksum?.type),
  );
}

export function listParts(request: S3Request, store: Store): Reply {
  const upload = readUpload(request, store);
  const maxParts = request.number('max-parts', MAX_PAGE, { min: 1, max: MAX_PAGE });
  const marker = request.number('part-number-marker', 0, { min: 0, max: MAX_PARTS });
  const parts = [...upload.parts.values()].filter(({ partNumber }) => partNumber > marker).sort((a, b) => a.partNumber - b.partNumber);
  const page = parts.slice(0, maxParts);
  const last = parts.length > page.length ? page.at(-1) : undefined;
  return {
    status: 200,
    body: s3Document(
      'ListPartsResult',
      leaf('Bucket', request.bucket),
      leaf('Key', upload.key),
      leaf('UploadId', upload.uploadId),
      leaf('PartNumberMarker', marker),
      leaf('NextPartNumberMarker', last?.partNumber),
      leaf('MaxParts', maxParts),
      leaf('IsTruncated', last !== undefined),
      leaf('ChecksumAlgorithm', upload.checksum?.algorithm),
      leaf('ChecksumType', upload.checksum?.type),
      ...page.map(({ partNumber, etag, lastModifiedIso, piece, checksum }) =>
        node(
          'Part',
          leaf('PartNumber', partNumber),
          leaf('LastModified', lastModifiedIso),
          leaf('ETag', quoted(etag)),
          leaf('Size', piece.size),
          upload.checksum ? leaf(`Checksum${upload.checksum.algorithm}`, checksum) : '',
        ),
      ),
    ),
  };
}
