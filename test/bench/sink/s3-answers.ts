import { answerHead } from '../wire/http1-server.js';
import type { SinkObject } from './sink-store.js';

const LAST_MODIFIED = 'Mon, 06 Jan 2025 10:00:00 GMT';

export function stored(etag: string): string {
  return answerHead('200 OK', { ETag: etag, 'Content-Length': 0 });
}

export function described({ sizeBytes, etag, metadata }: SinkObject): string {
  const type = 'application/octet-stream';
  const fields = { 'Content-Length': sizeBytes, 'Content-Type': type, ETag: etag, 'Last-Modified': LAST_MODIFIED };
  return answerHead('200 OK', { ...fields, ...Object.fromEntries(metadata) });
}

export function empty(status: string): string {
  return answerHead(status, { 'Content-Length': 0 });
}

/** Head and body of an XML answer. */
export function xml(status: string, content: string): [head: string, body: Buffer] {
  const body = Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>\n${content}`);
  return [answerHead(status, { 'Content-Type': 'application/xml', 'Content-Length': body.length }), body];
}

export function initiated(key: string, uploadId: string): [head: string, body: Buffer] {
  const content = `<Bucket>bench</Bucket><Key>${key}</Key><UploadId>${uploadId}</UploadId>`;
  return xml('200 OK', `<InitiateMultipartUploadResult>${content}</InitiateMultipartUploadResult>`);
}

export function completed(key: string, { etag }: SinkObject): [head: string, body: Buffer] {
  const content = `<Bucket>bench</Bucket><Key>${key}</Key><ETag>${etag.replaceAll('"', '&quot;')}</ETag>`;
  return xml('200 OK', `<CompleteMultipartUploadResult>${content}</CompleteMultipartUploadResult>`);
}

export function refused(status: string, code: string): [head: string, body: Buffer] {
  return xml(status, `<Error><Code>${code}</Code><Message>${code}</Message></Error>`);
}
