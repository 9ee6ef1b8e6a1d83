import { utf8Bytes } from './object-key.js';

const MAX_URL_BYTES = 8_192;
const S3_SCHEME = /^s3:/i;
const S3_OBJECT = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])\/(.+)$/s;
const UNSAFE = /[\p{Cc}\p{Cs}]|^\s|\s$/u;
const ESCAPED = /(?:%[0-9a-f]{2})+/gi;

/** Which part of its URL names a file that has no key: the last segment of the path, or host and path. */
export const KEYS_FROM = ['name', 'path'] as const;
export type KeyFrom = (typeof KEYS_FROM)[number];

/** What is wrong with the URL of a file or manifest; undefined when nothing is. Never repeats the URL: its query may be a secret. */
export function sourceUrlProblem(url: string): string | undefined {
  if (url === '') return 'is empty: give an http, https or s3 URL';
  if (url.length > MAX_URL_BYTES || utf8Bytes(url) > MAX_URL_BYTES) return `is over ${MAX_URL_BYTES} bytes: shorten it`;
  if (UNSAFE.test(url)) return 'contains a control character, or a space at an end: percent-encode it or leave it out';
  if (S3_SCHEME.test(url)) return S3_OBJECT.test(plainScheme(url)) ? undefined : 'is no s3 URL: give s3://bucket/key';
  const parsed = URL.parse(url);
  if (parsed === null) return 'is no absolute URL: give an http, https or s3 URL';
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') return 'has another scheme than http, https or s3: give one of these';
  if (parsed.username !== '' || parsed.password !== '') return 'carries a user name or password: send credentials in headers';
  return undefined;
}

/** The URL with `S3:` in small letters: nobody behind the intake need know that people write it so. */
export function plainScheme(url: string): string {
  return url.replace(S3_SCHEME, 's3:');
}

/**
 * The key of a file that has none of its own, from a URL without problems; undefined when its URL names no file.
 * `https://host:8080/o/a%2Fb.pdf?x=1` gives `b.pdf`, or `host/o/a/b.pdf` from the path. An escape that is no UTF-8 (`100%.pdf`, `%E4.pdf`)
 * stays as it stands, and so does a key of S3.
 */
export function keyOfUrl(url: string, from: KeyFrom): string | undefined {
  const [host, path] = partsOf(url);
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (name === '') return undefined;
  return from === 'name' ? name : host + path;
}

/** Host or bucket, and the decoded path from its slash on. */
function partsOf(url: string): [host: string, path: string] {
  const [, bucket, key] = S3_OBJECT.exec(url) ?? [];
  if (bucket !== undefined) return [bucket, `/${key}`];
  const { hostname, pathname } = new URL(url);
  return [hostname, pathname.replaceAll(ESCAPED, decoded)];
}

function decoded(escapes: string): string {
  try {
    return decodeURIComponent(escapes);
  } catch {
    return escapes;
  }
}
