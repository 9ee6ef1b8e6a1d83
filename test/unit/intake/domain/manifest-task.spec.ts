import { describe, expect, it } from '@jest/globals';
import { toManifestTask, type ManifestEntry } from '../../../../src/intake/domain/manifest-task.js';
import { keyProblem, prefixProblem } from '../../../../src/intake/domain/object-key.js';
import { headersProblem } from '../../../../src/intake/domain/request-headers.js';
import { sourceUrlProblem, type KeyFrom } from '../../../../src/intake/domain/source-url.js';

const taskOf = (entry: ManifestEntry, keyFrom?: KeyFrom) => {
  const outcome = toManifestTask(entry, { prefix: 'exports/1/', keyFrom });
  return outcome.kind === 'task' ? outcome.task : `${outcome.field} ${outcome.reason}`;
};

describe('a task from an entry', () => {
  it.each([
    ['https://host/a/b.pdf', 'b.pdf'],
    ['https://host/a/b.pdf?sig=x#part', 'b.pdf'],
    ['https://host/a/%C3%A4%20b.pdf', 'ä b.pdf'],
    ['https://host/o/a%2Fb.pdf', 'b.pdf'],
    ['https://host/100%.pdf', '100%.pdf'],
    ['https://host/%E4.pdf', '%E4.pdf'],
    ['https://host/%C3%A4-100%-%E4.pdf', 'ä-100%-%E4.pdf'],
    ['s3://bucket/a/b%20c?d.pdf', 'b%20c?d.pdf'],
  ])('takes the key of %s from its decoded path', (url, key) => {
    expect(taskOf({ url })).toEqual({ url, key });
  });

  it.each(['https://host', 'https://host/a/', 'https://host/a%2F', 's3://bucket/folder/'])(
    'asks for a key when %s has no file name',
    (url) => {
      expect(taskOf({ url })).toBe('key is missing and the URL has no file name to take: give a key');
    },
  );

  it.each([
    ['https://Host:8080/a/b.pdf?sig=x#part', 'host/a/b.pdf'],
    ['https://host/o/a%2Fb.pdf', 'host/o/a/b.pdf'],
    ['s3://bucket/a/b c.pdf', 'bucket/a/b c.pdf'],
  ])('keyFrom path: takes the key of %s from host and path', (url, key) => {
    expect(taskOf({ url }, 'path')).toEqual({ url, key });
    expect(taskOf({ url, key: 'mine' }, 'path')).toEqual({ url, key: 'mine' });
  });

  it.each(['https://host/a/', 'https://host'])('keyFrom path: asks for a key when %s has no file name', (url) => {
    expect(taskOf({ url }, 'path')).toMatch(/^key is missing/);
  });

  it('takes S3:// for s3://', () => {
    expect(taskOf({ url: 'S3://bucket/a/b.pdf' })).toEqual({ url: 's3://bucket/a/b.pdf', key: 'b.pdf' });
  });

  it('takes null for absent', () => {
    expect(taskOf({ url: 'https://host/x', key: null, size: null, checksum: null, headers: null })).toEqual({
      url: 'https://host/x',
      key: 'x',
    });
  });

  const HEX = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
  const BASE64 = '47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=';
  it.each([
    { algorithm: 'SHA256', value: HEX },
    { algorithm: 'SHA-256', value: BASE64 },
    { algorithm: 'sha256', value: `sha256:${HEX}` },
    { algorithm: 'Sha-256', value: `sha256-${BASE64}` },
    { value: `sha256-${BASE64}` },
    { value: `SHA-256=${BASE64}` },
    { algorithm: null, value: `"sha256:${HEX}"` },
  ])('reads the checksum %j', (checksum) => {
    expect(taskOf({ url: 'https://host/x', checksum })).toMatchObject({ checksum: { algorithm: 'sha256', value: HEX } });
  });

  it.each([
    [{ value: HEX }, 'checksum.algorithm is missing: add it, or write it before the value (sha256:…)'],
    [{ algorithm: 'md4', value: HEX }, 'checksum.algorithm must be one of md5, sha1,'],
    [{ value: `sha384-${BASE64}` }, 'checksum.algorithm must be one of md5, sha1,'],
    [{ algorithm: 'md5', value: `sha256:${HEX}` }, 'checksum is one of sha256 by its value, and not of md5: correct one of them'],
    [{ value: 'sha256:abc' }, 'checksum is no sha256: give 64 hex digits'],
    [{ value: `sha256-${BASE64} sha512-abc` }, 'checksum is no sha256: give 64 hex digits'],
  ])('refuses the checksum %j', (checksum, problem) => {
    expect(taskOf({ url: 'https://host/x', checksum })).toContain(problem);
  });

  it('carries size, headers and the checksum as lower-case hex', () => {
    const entry: ManifestEntry = {
      url: 'https://host/x',
      key: 'a/b',
      size: 0,
      checksum: { algorithm: 'md5', value: '1B2M2Y8AsgTpgAmY7PhCfg==' },
      headers: { Authorization: 'Bearer x' },
    };
    expect(taskOf(entry)).toEqual({ ...entry, checksum: { algorithm: 'md5', value: 'd41d8cd98f00b204e9800998ecf8427e' } });
  });

  it.each([-1, 1.5, Number.NaN, 2 ** 53])('refuses a size of %s', (size) => {
    expect(taskOf({ url: 'https://host/x', size })).toMatch(/^size is no whole number/);
  });

  it('refuses a checksum that fits no form', () => {
    expect(taskOf({ url: 'https://host/x', checksum: { algorithm: 'sha256', value: 'abc' } })).toMatch(/^checksum is no sha256/);
  });

  it('says that a bad key came from the URL', () => {
    expect(taskOf({ url: 'https://host/_export' })).toMatch(/^key \(from the URL\) contains the segment "_export"/);
  });
});

describe('keys', () => {
  it.each(['a', 'a/b.txt', '..a/b..', 'ünï/ぶ', 'with space', 'x_export/y', 'heart ❤️', '🏴󠁧󠁢󠁥󠁮󠁧󠁿'])('takes %j', (key) => {
    expect(keyProblem(key, 'p/')).toBeUndefined();
  });

  it.each([
    ['', 'is empty'],
    ['/a', 'starts with'],
    ['a/', 'ends with'],
    ['a//b', 'segment'],
    ['./a', 'segment'],
    ['a/../b', 'segment'],
    ['..', 'segment'],
    [' a', 'begins with white space'],
    ['a\u00a0', 'ends with white space or an invisible character: leave it out'],
    ['a.pdf\u200b', 'ends with white space or an invisible'],
    ['\u2066a', 'begins with white space or an invisible'],
    ['a\nb', 'control character'],
    ['a\u007fb', 'control character'],
    ['a\ud800b', 'surrogate'],
    ['_export/abc/input/request.json', 'where results lie'],
    ['a/_export/b', 'where results lie'],
  ])('refuses %j, because it %s', (key, reason) => {
    expect(keyProblem(key, '')).toContain(reason);
  });

  it('counts bytes of UTF-8, the prefix among them', () => {
    expect(keyProblem('ä'.repeat(500), 'x'.repeat(23) + '/')).toBeUndefined();
    expect(keyProblem('ä'.repeat(500), 'x'.repeat(24) + '/')).toContain('1024 bytes');
  });
});

describe('prefixes', () => {
  it.each(['', 'a/', 'exports/abc-123/'])('takes %j', (prefix) => {
    expect(prefixProblem(prefix)).toBeUndefined();
  });

  it.each(['a', '/', '/a/', 'a//', 'a/../', './', 'a\u0000/', '_export/', 'a/_export/b/', `${'x'.repeat(768)}/`])(
    'refuses %j',
    (prefix) => {
      expect(prefixProblem(prefix)).toEqual(expect.any(String));
    },
  );
});

describe('URLs', () => {
  it.each(['http://host/x', 'https://host:8443/x?y=1', 'https://[::1]/x', 's3://my-bucket/a b?c', 'HTTPS://host/', 'S3://my-bucket/a'])(
    'takes %s',
    (url) => {
      expect(sourceUrlProblem(url)).toBeUndefined();
    },
  );

  it.each([
    ['', 'is empty'],
    ['/relative', 'no absolute URL'],
    ['host/x', 'no absolute URL'],
    ['ftp://host/x', 'another scheme'],
    ['file:///etc/passwd', 'another scheme'],
    ['https://user:secret@host/x', 'user name'],
    ['https://user@host/x', 'user name'],
    ['s3://bucket', 'no s3 URL'],
    ['s3://bucket/', 'no s3 URL'],
    ['s3://user@bucket/x', 'no s3 URL'],
    ['https://host/a\nb', 'control character'],
    [' https://host/x', 'space at an end'],
    [`https://host/${'x'.repeat(8_192)}`, '8192 bytes'],
    [`https://host/${'ä'.repeat(4_096)}`, '8192 bytes'],
  ])('refuses %j: %s', (url, reason) => {
    const problem = sourceUrlProblem(url);
    expect(problem).toContain(reason);
    expect(problem).not.toContain('secret');
  });
});

describe('request headers', () => {
  it('takes what HTTP allows', () => {
    expect(headersProblem({ Authorization: 'Bearer x', 'x-api-key': '1', accept: '' })).toBeUndefined();
  });

  it.each([
    [{ 'bad name': 'x' }, 'a name that HTTP does not allow'],
    [{ '': 'x' }, 'a name that HTTP does not allow'],
    [{ 'x-key': 'secret\r\nhost: other' }, 'a value of "x-key"'],
    [{ 'x-key': 'secret ぶ' }, 'a value of "x-key"'],
    [{ Range: 'bytes=0-1' }, 'holds "Range", which the download sets itself'],
    [{ Host: 'other' }, 'holds "Host"'],
    [{ Authorization: 'secret 1', authorization: 'secret 2' }, '"Authorization" and "authorization", which are one header: keep one'],
    [{ 'x-key': 'secret'.repeat(2_000) }, '8192 characters'],
  ])('refuses %j without showing the value', (headers, reason) => {
    const problem = headersProblem(headers);
    expect(problem).toContain(reason);
    expect(problem).not.toContain('secret');
  });
});
