import type { Readable } from 'node:stream';

/** An answer before it is sent, so that a fault can still withhold it. */
export interface Reply {
  status: number;
  headers?: Record<string, string | number>;
  /** An XML document. */
  body?: string;
  /** Opens an object's bytes; not called when nobody will read them. */
  stream?: () => Readable;
}

/** S3 puts entity tags in quotes wherever it shows them. */
export function quoted(etag: string): string {
  return `"${etag}"`;
}

export function unquoted(etag: string): string {
  return etag.trim().replace(/^"(.*)"$/, '$1');
}
