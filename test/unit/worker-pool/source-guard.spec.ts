import { describe, expect, it } from '@jest/globals';
import { SourceGuard, type SourceAccess } from '../../../src/worker-pool/threads/source-guard.js';

const NONE: SourceAccess = { sourceBuckets: [], sourceHosts: [], sourceCidrs: [], sourcePorts: [] };
const refused = expect.objectContaining({ code: 'SOURCE_NOT_ALLOWED', disposition: 'reject' });
const check = (url: string, access: Partial<SourceAccess> = {}) => new SourceGuard({ ...NONE, ...access }).checkUrl(new URL(url));

describe('a literal address in a URL', () => {
  it.each([
    'http://127.0.0.1/',
    'http://127.1/',
    'http://2130706433/',
    'http://0x7f000001/',
    'http://0x7f.0.0.1/',
    'http://0177.0.0.1/',
    'http://017700000001/',
    'http://127.0.0.1./',
    'http://１２７.０.０.１/',
    'http://0/',
    'http://0.0.0.0:8080/',
    'http://10.0.0.1/',
    'http://172.31.255.255/',
    'http://192.168.0.1/',
    'http://100.64.0.1/',
    'http://169.254.169.254/latest/meta-data',
    'http://169.254.170.2/v2/credentials',
    'http://0xa9fea9fe/',
    'http://192.0.0.1/',
    'http://192.0.2.1/',
    'http://198.18.0.1/',
    'http://224.0.0.1/',
    'http://240.0.0.1/',
    'http://255.255.255.255/',
    'http://[::]/',
    'http://[::1]/',
    'http://[0:0:0:0:0:0:0:1]/',
    'http://[::127.0.0.1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:8.8.8.8]/',
    'http://[::ffff:0:127.0.0.1]/',
    'http://[64:ff9b::127.0.0.1]/',
    'http://[64:ff9b::8.8.8.8]/',
    'http://[64:ff9b:1::a00:1]/',
    'http://[2002:7f00:1::]/',
    'http://[2001::1]/',
    'http://[2001:db8::1]/',
    'http://[fe80::1]/',
    'http://[fec0::1]/',
    'http://[fc00::1]/',
    'http://[fd00:ec2::254]/latest/meta-data',
    'http://[ff02::1]/',
    'http://[100::1]/',
  ])('%s is refused', (url) => {
    expect(() => check(url)).toThrow(refused);
  });

  it.each(['http://8.8.8.8/', 'https://1.1.1.1:8443/', 'http://[2606:4700::1111]/', 'https://example.com/'])('%s passes', (url) => {
    expect(() => check(url)).not.toThrow();
  });

  it('is not told in the error', () => {
    expect(() => check('http://10.1.2.3/')).toThrow(/^(?!.*10\.1\.2\.3)/);
  });
});

describe('what a URL may say', () => {
  it.each([
    'ftp://example.com/',
    'file:///etc/passwd',
    'data:text/plain,x',
    'https://user@example.com/',
    'https://user:password@example.com/',
  ])('%s is refused', (url) => {
    expect(() => check(url)).toThrow(refused);
  });

  it('is any port, or one of the listed', () => {
    expect(() => check('http://example.com:8080/')).not.toThrow();
    const sourcePorts = [443];
    expect(() => check('https://example.com/', { sourcePorts })).not.toThrow();
    expect(() => check('http://example.com/', { sourcePorts })).toThrow(refused);
    expect(() => check('https://example.com:8443/', { sourcePorts })).toThrow(refused);
  });
});

describe('exceptions', () => {
  it('let a listed host be private, in whatever form it is written', () => {
    const sourceHosts = ['127.0.0.1', 'Internal.example', '[::1]'];
    for (const url of ['http://127.0.0.1/', 'http://0x7f.1/', 'http://[::1]/']) expect(() => check(url, { sourceHosts })).not.toThrow();
    const guard = new SourceGuard({ ...NONE, sourceHosts });
    expect(guard.mayConnect('internal.example', '10.0.0.1')).toBe(true);
    expect(guard.mayConnect('other.example', '10.0.0.1')).toBe(false);
  });

  it('let a listed range be connected to, and nothing beside it', () => {
    const guard = new SourceGuard({ ...NONE, sourceCidrs: ['10.1.0.0/16', 'fd00:1::/32'] });
    expect(guard.mayConnect('a.example', '10.1.255.255')).toBe(true);
    expect(guard.mayConnect('a.example', 'fd00:1::5')).toBe(true);
    expect(guard.mayConnect('a.example', '10.2.0.0')).toBe(false);
    expect(guard.mayConnect('a.example', '::ffff:10.1.0.1')).toBe(false);
    expect(guard.mayConnect('a.example', undefined)).toBe(false);
  });
});

describe('the look-up of a name', () => {
  const resolve = (guard: SourceGuard, all: boolean) =>
    new Promise<unknown>((settle) => guard.lookup('localhost', { all, family: 4 }, (error, address) => settle(error ?? address)));

  it('answers with nothing for a name that leads to this machine', async () => {
    expect(await resolve(new SourceGuard(NONE), true)).toEqual(refused);
    expect(await resolve(new SourceGuard(NONE), false)).toEqual(refused);
  });

  it('answers with the addresses that pass, one or all', async () => {
    const guard = new SourceGuard({ ...NONE, sourceCidrs: ['127.0.0.0/8'] });
    expect(await resolve(guard, true)).toEqual([{ address: '127.0.0.1', family: 4 }]);
    expect(await resolve(guard, false)).toBe('127.0.0.1');
  });
});

describe('an s3 source', () => {
  const guard = new SourceGuard({ ...NONE, sourceBuckets: ['shared'] });

  it('is any key of an allowed bucket, taken as it stands', () => {
    expect(guard.checkS3('s3://shared/a b/%20?c#d')).toEqual({ bucket: 'shared', key: 'a b/%20?c#d' });
  });

  it.each([
    's3://other/key',
    's3://shared/_export/job/manifest.json',
    's3://shared/exports/1/_export/job/x',
    's3://shared/exports_export/job/x',
  ])('%s is refused', (uri) => {
    expect(() => guard.checkS3(uri)).toThrow(refused);
  });

  it.each(['s3://shared', 's3://shared/', 's3:///key', 's3:key'])('%s is no location', (uri) => {
    expect(() => guard.checkS3(uri)).toThrow(expect.objectContaining({ code: 'URL_INVALID' }));
  });
});
