import { utf8Bytes } from './object-key.js';

const MAX_URL_BYTES = 8_192;
const S3_OBJECT = /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]\/./;
const UNSAFE = /[\p{Cc}\p{Cs}]|^\s|\s$/u;

/** What is wrong with the URL of a file or manifest; undefined when nothing is. Never repeats the URL: its query may be a secret. */
export function sourceUrlProblem(url: string): string | undefined {
  if (url === '') return 'is empty: give an http, https or s3 URL';
  if (url.length > MAX_URL_BYTES || utf8Bytes(url) > MAX_URL_BYTES) return `is over ${MAX_URL_BYTES} bytes: shorten it`;
  if (UNSAFE.test(url)) return 'contains a control character, or a space at an end: percent-encode it or leave it out';
  if (url.startsWith('s3:')) return S3_OBJECT.test(url) ? undefined : 'is no s3 URL: give s3://bucket/key';
  const parsed = URL.parse(url);
  if (parsed === null) return 'is no absolute URL: give an http, https or s3 URL';
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') return 'has another scheme than http, https or s3: give one of these';
  if (parsed.username !== '' || parsed.password !== '') return 'carries a user name or password: send credentials in headers';
  return undefined;
}

/** The last segment of the URL's decoded path; undefined when there is none or it cannot be decoded. A key of S3 is taken as it stands. */
export function fileNameOf(url: string): string | undefined {
  if (url.startsWith('s3:')) return lastSegment(url);
  try {
    return lastSegment(decodeURIComponent(new URL(url).pathname));
  } catch {
    return undefined;
  }
}

function lastSegment(path: string): string | undefined {
  return path.slice(path.lastIndexOf('/') + 1) || undefined;
}
