import type { IncomingMessage } from 'node:http';
import { s3Error } from './errors.js';

interface Route {
  operation: string;
  method: string;
  on: 'bucket' | 'key';
  /** Query parameters that make a request this operation. */
  marks?: readonly string[];
  /** Further query parameters that it takes. */
  takes?: readonly string[];
  /** Whether `x-amz-copy-source` makes a request this operation. */
  copies?: true;
}

/** The narrower route of one method comes first. */
const ROUTES = [
  { operation: 'PutBucketLifecycleConfiguration', method: 'PUT', on: 'bucket', marks: ['lifecycle'] },
  { operation: 'CreateBucket', method: 'PUT', on: 'bucket' },
  { operation: 'HeadBucket', method: 'HEAD', on: 'bucket' },
  {
    operation: 'ListObjectsV2',
    method: 'GET',
    on: 'bucket',
    marks: ['list-type'],
    takes: ['prefix', 'delimiter', 'max-keys', 'start-after', 'continuation-token', 'encoding-type'],
  },
  {
    operation: 'ListMultipartUploads',
    method: 'GET',
    on: 'bucket',
    marks: ['uploads'],
    takes: ['prefix', 'max-uploads', 'key-marker', 'upload-id-marker'],
  },
  { operation: 'GetBucketLifecycleConfiguration', method: 'GET', on: 'bucket', marks: ['lifecycle'] },
  { operation: 'DeleteObjects', method: 'POST', on: 'bucket', marks: ['delete'] },
  { operation: 'UploadPartCopy', method: 'PUT', on: 'key', marks: ['partNumber', 'uploadId'], copies: true },
  { operation: 'UploadPart', method: 'PUT', on: 'key', marks: ['partNumber', 'uploadId'] },
  { operation: 'CopyObject', method: 'PUT', on: 'key', copies: true },
  { operation: 'PutObject', method: 'PUT', on: 'key' },
  { operation: 'ListParts', method: 'GET', on: 'key', marks: ['uploadId'], takes: ['max-parts', 'part-number-marker'] },
  { operation: 'GetObject', method: 'GET', on: 'key' },
  { operation: 'HeadObject', method: 'HEAD', on: 'key' },
  { operation: 'AbortMultipartUpload', method: 'DELETE', on: 'key', marks: ['uploadId'] },
  { operation: 'DeleteObject', method: 'DELETE', on: 'key' },
  { operation: 'CreateMultipartUpload', method: 'POST', on: 'key', marks: ['uploads'] },
  { operation: 'CompleteMultipartUpload', method: 'POST', on: 'key', marks: ['uploadId'] },
] as const satisfies readonly Route[];

export type S3Operation = (typeof ROUTES)[number]['operation'];

const MAX_KEY_BYTES = 1_024;

/** One request, its operation told apart and its address decoded. */
export class S3Request {
  /** Facts for the request log. */
  readonly detail: Record<string, unknown> = {};
  /** Set by a fault: what this request stores gets one byte flipped. */
  corrupt = false;

  constructor(
    readonly message: IncomingMessage,
    readonly operation: S3Operation,
    readonly bucket: string,
    /** Empty for an operation on the bucket itself. */
    readonly key: string,
    readonly query: URLSearchParams,
  ) {}

  header(name: string): string | undefined {
    const value = this.message.headers[name];
    return Array.isArray(value) ? value.join(',') : value;
  }

  /** A whole number from the query. @throws InvalidArgument */
  number(name: string, fallback: number, { min, max }: { min: number; max: number }): number {
    const text = this.query.get(name);
    if (text === null) return fallback;
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw s3Error('InvalidArgument', `${name} must be an integer between ${min} and ${max}, inclusive`, {
        ArgumentName: name,
        ArgumentValue: text,
      });
    }
    return value;
  }
}

/** @throws InvalidURI, NotImplemented */
export function parseRequest(message: IncomingMessage): S3Request {
  const [path = '', search = ''] = splitOnce(message.url ?? '', '?');
  // Not by `new URL`, which resolves the `.` and `..` that are legal in a key.
  const [bucket = '', key = ''] = splitOnce(path.slice(1), '/').map(decodePath);
  const query = new URLSearchParams(search);
  return new S3Request(message, route(message, key, query), bucket, key, query);
}

/** @throws AccessDenied, KeyTooLongError */
export function checkRequest(request: S3Request): void {
  // Nothing here knows a secret that a signature could be checked against; that there is one is what clients get wrong.
  if (!request.header('authorization')?.startsWith('AWS4-') && !request.query.has('X-Amz-Signature')) throw s3Error('AccessDenied');
  const keyBytes = Buffer.byteLength(request.key);
  if (keyBytes > MAX_KEY_BYTES) throw s3Error('KeyTooLongError', undefined, { Size: keyBytes, MaxSizeAllowed: MAX_KEY_BYTES });
}

function splitOnce(text: string, separator: string): string[] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function decodePath(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw s3Error('InvalidURI');
  }
}

function route({ method, headers }: IncomingMessage, key: string, query: URLSearchParams): S3Operation {
  const on = key === '' ? 'bucket' : 'key';
  const copies = 'x-amz-copy-source' in headers;
  for (const candidate of ROUTES as readonly (Route & { operation: S3Operation })[]) {
    const { marks = [], takes = [] } = candidate;
    if (candidate.method !== method || candidate.on !== on) continue;
    if ((candidate.copies ?? false) !== copies || !marks.every((name) => query.has(name))) continue;
    // A parameter that is not known here (`versionId`, `tagging`, `acl`) would change what is meant: refused, never ignored.
    const unknown = [...query.keys()].some((name) => !isCommonParameter(name) && !marks.includes(name) && !takes.includes(name));
    if (unknown) break;
    return candidate.operation;
  }
  throw s3Error('NotImplemented');
}

/** The SDK's operation hint and what a presigned URL carries. */
function isCommonParameter(name: string): boolean {
  return name === 'x-id' || name.toLowerCase().startsWith('x-amz-');
}
