import { createHash, createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

export interface Signer {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
const recoded = (text: string): string => encode(decodeURIComponent(text));

/** What S3 would refuse in a request with a Signature Version 4 by `signer`, worked out from AWS's description of it and the bytes that came. */
export function signatureFault({ method = '', url = '', headers }: IncomingMessage, signer: Signer): string | undefined {
  const authorization = headers.authorization ?? '';
  const [, accessKeyId, scope = '', signedNames = '', signature] =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\S+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(authorization) ?? [];
  if (signature === undefined) return 'no signature';
  if (accessKeyId !== signer.accessKeyId) return 'InvalidAccessKeyId';
  if (headers['x-amz-security-token'] !== signer.sessionToken) return 'InvalidToken';
  const signed = signedNames.split(';');
  const mustBeSigned = Object.keys(headers).filter((name) => name === 'host' || name === 'content-type' || name.startsWith('x-amz-'));
  const unsigned = mustBeSigned.filter((name) => !signed.includes(name));
  if (unsigned.length > 0) return `not signed: ${unsigned.join()}`;
  const [path = '', query = ''] = url.split('?');
  const canonicalQuery = query
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => pair.split('=').map(recoded))
    .map(([name, value = '']) => `${name}=${value}`)
    .sort();
  const canonicalHeaders = signed.map((name) => `${name}:${String(headers[name]).trim().replace(/ +/g, ' ')}\n`);
  const payload = String(headers['x-amz-content-sha256']);
  const canonical = [
    method,
    path.split('/').map(recoded).join('/'),
    canonicalQuery.join('&'),
    canonicalHeaders.join(''),
    signedNames,
    payload,
  ];
  const time = String(headers['x-amz-date']);
  const hash = createHash('sha256').update(canonical.join('\n')).digest('hex');
  const [date = '', region = '', service = '', end = ''] = scope.split('/');
  if (date !== time.slice(0, 8) || service !== 's3' || end !== 'aws4_request') return `the scope ${scope}`;
  const key = [date, region, service, end].reduce<string | Buffer>(hmac, `AWS4${signer.secretAccessKey}`);
  const expected = hmac(key, ['AWS4-HMAC-SHA256', time, scope, hash].join('\n')).toString('hex');
  return signature === expected ? undefined : 'SignatureDoesNotMatch';
}

/** Milliseconds since the epoch of `X-Amz-Date`. */
export function signedAtMs({ headers }: IncomingMessage): number {
  return Date.parse(String(headers['x-amz-date']).replace(/^(....)(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5'));
}
