import { parseXML } from '@aws-sdk/xml-builder';

/** The texts of S3's answers that anyone here reads. What is not there, or is no XML, is `undefined`. */

/** An error; also one that came with a 200, as Complete and Copy may answer once their headers are sent. Of its message only the permission that it names. */
export function answeredError(text: string): { code: string; permission?: string } | undefined {
  const error = valueAt(parse(text), 'Error');
  const code = stringAt(error, 'Code');
  if (code === undefined) return undefined;
  const permission = /not authorized to perform: ([a-z0-9-]+:[A-Za-z]+)/.exec(stringAt(error, 'Message') ?? '')?.[1];
  return { code, ...(permission !== undefined && { permission }) };
}

export function uploadId(text: string): string | undefined {
  return stringAt(parse(text), 'InitiateMultipartUploadResult', 'UploadId');
}

export function completedEtag(text: string): string | undefined {
  return stringAt(parse(text), 'CompleteMultipartUploadResult', 'ETag');
}

/** Of an object or a part that was copied. */
export function copied(text: string): { etag?: string; crc32?: string } {
  const document = parse(text);
  const result = valueAt(document, 'CopyObjectResult') ?? valueAt(document, 'CopyPartResult');
  const [etag, crc32] = [stringAt(result, 'ETag'), stringAt(result, 'ChecksumCRC32')];
  return { ...(etag !== undefined && { etag }), ...(crc32 !== undefined && { crc32 }) };
}

/** Uploads that were begun and not ended. */
export function openUploads(text: string): { key: string; uploadId: string; initiatedMs: number }[] {
  const uploads = valueAt(parse(text), 'ListMultipartUploadsResult', 'Upload');
  return (Array.isArray(uploads) ? uploads : [uploads]).flatMap((upload: unknown) => {
    const [key, id] = [stringAt(upload, 'Key'), stringAt(upload, 'UploadId')];
    if (key === undefined || id === undefined) return [];
    return [{ key, uploadId: id, initiatedMs: Date.parse(stringAt(upload, 'Initiated') ?? '') }];
  });
}

/** Of an upload; true also where the answer is none. */
export function hasParts(text: string): boolean {
  const list = valueAt(parse(text), 'ListPartsResult');
  return list === undefined || valueAt(list, 'Part') !== undefined;
}

export interface UploadedPart {
  /** 1, 2, 3 … */
  number: number;
  etag: string;
  /** Base64, as S3 writes it. */
  crc32?: string;
}

/** The request that completes an upload. */
export function completion(parts: readonly UploadedPart[]): string {
  const listed = parts.map(({ number, etag, crc32 }) => {
    const checksum = crc32 === undefined ? '' : `<ChecksumCRC32>${escaped(crc32)}</ChecksumCRC32>`;
    return `<Part><PartNumber>${number}</PartNumber><ETag>${escaped(etag)}</ETag>${checksum}</Part>`;
  });
  return `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${listed.join('')}</CompleteMultipartUpload>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function parse(text: string): unknown {
  if (!text.trimStart().startsWith('<')) return undefined;
  try {
    return parseXML(text);
  } catch {
    return undefined;
  }
}

function valueAt(value: unknown, ...path: string[]): unknown {
  return path.reduce<unknown>((at, name) => (typeof at === 'object' && at !== null ? Reflect.get(at, name) : undefined), value);
}

function stringAt(value: unknown, ...path: string[]): string | undefined {
  const found = valueAt(value, ...path);
  return typeof found === 'string' && found !== '' ? found : undefined;
}
