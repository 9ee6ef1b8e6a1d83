import { describe, expect, it } from '@jest/globals';
import { parseExportJobMessage } from '../../../../src/intake/adapters/export-job-message.schema.js';

const REQUIRED = { jobId: 'abc-123', exportId: 'export-456', userId: 'user-789' };
const TOKEN = 'AAAAKgAAAAIAAAAA-secret-token';

const parse = (message: unknown) => parseExportJobMessage(JSON.stringify(message));
const reasonsOf = (message: unknown) => {
  const parsed = parse(message);
  return parsed.kind === 'unusable' ? parsed.reasons : [];
};

describe('a usable message', () => {
  it('needs three ids and nothing else, and gets no defaults', () => {
    expect(parse(REQUIRED)).toEqual({ kind: 'ok', message: REQUIRED });
  });

  it('may carry everything, inline files as sent and as tasks', () => {
    const message = {
      ...REQUIRED,
      taskToken: TOKEN,
      source: { files: [{ url: 'https://host/a/b.pdf', size: 123, checksum: { algorithm: 'md5', value: '1B2M2Y8AsgTpgAmY7PhCfg==' } }] },
      destination: { bucket: 'my-bucket', prefix: 'exports/abc-123/' },
      options: {
        toleratedFailureCount: 1,
        toleratedFailurePercentage: 2.5,
        headers: { a: 'b' },
        expectContentType: 'application/pdf',
        maxConcurrency: 64,
        failFast: true,
      },
      metadata: { nested: { list: [1, null, 'x'] } },
    };
    expect(parse(message)).toEqual({
      kind: 'ok',
      message,
      files: [
        { url: 'https://host/a/b.pdf', key: 'b.pdf', size: 123, checksum: { algorithm: 'md5', value: 'd41d8cd98f00b204e9800998ecf8427e' } },
      ],
    });
  });

  it('may carry keys at the top that a newer sender knows', () => {
    expect(parse({ ...REQUIRED, v: 2, priority: 'high' })).toEqual({ kind: 'ok', message: REQUIRED });
  });

  it('may carry keys at the top that look like a field which is there, too', () => {
    const message = { ...REQUIRED, destination: { bucket: 'my-bucket' } };
    expect(parse({ ...message, destinations: 2, jobIds: [], job_id: 7 })).toEqual({ kind: 'ok', message });
  });

  it('may begin with a byte order mark', () => {
    expect(parseExportJobMessage(`\uFEFF${JSON.stringify(REQUIRED)}`)).toEqual({ kind: 'ok', message: REQUIRED });
  });

  it('may hold characters beyond the basic plane', () => {
    const files = [{ url: 'https://host/a', key: 'fotos/🎉.jpg' }];
    expect(parse({ ...REQUIRED, source: { files } })).toMatchObject({ kind: 'ok', files: [{ key: 'fotos/🎉.jpg' }] });
  });

  it.each(['s3://bucket/list.jsonl.gz', 'https://host/list?sig=x'])('may point to the manifest %s', (manifest) => {
    expect(parse({ ...REQUIRED, source: { manifest, format: 'jsonl' } }).kind).toBe('ok');
  });

  it('may hold no files at all, if it says so', () => {
    expect(parse({ ...REQUIRED, source: { files: [], allowEmpty: true } })).toMatchObject({ kind: 'ok', files: [] });
  });

  it('may say how the list is read, also one that lies where the service says', () => {
    const reading = { format: 'list', keyFrom: 'path', ignoreColumns: ['id'], allowEmpty: true };
    expect(parse({ ...REQUIRED, source: { manifest: 'S3://bucket/k', ...reading } }).kind).toBe('ok');
    expect(parse({ ...REQUIRED, source: reading }).kind).toBe('ok');
  });

  it('may have a file twice: it is one', () => {
    const files = [{ url: 'https://host/a', size: null }, { url: 'https://host/a' }];
    expect(parse({ ...REQUIRED, source: { files } })).toMatchObject({ files: [{ url: 'https://host/a', key: 'a' }] });
  });

  it('may name its files by host and path', () => {
    const files = [{ url: 'https://host/a' }, { url: 'https://other/a' }];
    expect(parse({ ...REQUIRED, source: { files, keyFrom: 'path' } })).toMatchObject({ files: [{ key: 'host/a' }, { key: 'other/a' }] });
  });

  it.each(['a', "A-z_0.9+!@='()", 'x'.repeat(128), '...'])('may have the jobId %s', (jobId) => {
    expect(parse({ ...REQUIRED, jobId }).kind).toBe('ok');
  });
});

describe('an unusable message', () => {
  it('that lacks a field and has one like it is told of both', () => {
    const { userId: _none, ...message } = REQUIRED;
    expect(reasonsOf({ ...message, userID: 'u' })).toEqual([
      'userId is missing: add it (string)',
      'userID is no field of a message: is it meant to be userId? Correct or remove it',
    ]);
  });

  it.each(['', 'null', '[]', '"x"', '12', '{', '\u0000'])('%j is answered, not thrown', (body) => {
    expect(parseExportJobMessage(body)).toEqual({ kind: 'unusable', reasons: expect.arrayContaining([expect.any(String)]) });
  });

  const problems: [message: unknown, reason: string][] = [
    [{ ...REQUIRED, jobId: undefined }, 'jobId is missing: add it (string)'],
    [{ ...REQUIRED, exportId: 7 }, 'exportId has the wrong type: it must be of type string'],
    [{ ...REQUIRED, userId: '' }, 'userId is empty: give a value'],
    [{ ...REQUIRED, jobId: 'a/b' }, 'jobId must be 1 to 128 of'],
    [{ ...REQUIRED, jobId: '..' }, 'jobId must be 1 to 128 of'],
    [{ ...REQUIRED, jobId: 'x'.repeat(129) }, 'jobId must be 1 to 128 of'],
    [{ ...REQUIRED, taskToken: '' }, 'taskToken is empty'],
    [{ ...REQUIRED, taskToken: 'x'.repeat(2_049) }, 'taskToken is over 2048 characters'],
    [{ ...REQUIRED, source: { manifest: 's3://bucket/k', formta: 'csv' } }, 'source has unknown keys (formta)'],
    [{ ...REQUIRED, source: {} }, 'source needs one of files and manifest'],
    [{ ...REQUIRED, source: { files: [{ url: 'https://host/a' }], manifest: 's3://bucket/k' } }, 'source needs one of files and manifest'],
    [{ ...REQUIRED, source: { files: [], format: 'csv', allowEmpty: true } }, 'source has a format without a manifest'],
    [{ ...REQUIRED, source: { files: [], ignoreColumns: [], allowEmpty: true } }, 'source has ignoreColumns without a manifest'],
    [{ ...REQUIRED, source: { files: [] } }, 'source has no file: give some, or say that this is in order (allowEmpty: true)'],
    [{ ...REQUIRED, source: { manifest: 's3://bucket/k', keyFrom: 'url' } }, 'source.keyFrom must be one of name, path'],
    [{ ...REQUIRED, source: { manifest: 'ftp://host/x' } }, 'source.manifest has another scheme'],
    [
      { ...REQUIRED, source: { manifest: 's3://bucket/k', format: 'xml' } },
      'source.format must be one of list, jsonl, json, csv, tsv-http-data',
    ],
    [{ ...REQUIRED, source: { files: [{ key: 'a' }] } }, 'source.files[0].url is missing'],
    [{ ...REQUIRED, source: { files: [{ url: 'https://host/a', sise: 1 }] } }, 'source.files[0] has unknown keys (sise)'],
    [
      { ...REQUIRED, source: { files: [{ url: 'https://host/a', key: '../b' }] } },
      'source.files[0].key contains an empty, "." or ".." segment',
    ],
    [
      { ...REQUIRED, source: { files: [{ url: 'https://host/a', checksum: { algorithm: 'md4', value: '' } }] } },
      'source.files[0].checksum.algorithm must be one of',
    ],
    [
      { ...REQUIRED, source: { files: [{ url: 'https://host/a' }, { url: 'https://other/a' }] } },
      'source.files[1].key is also the key of source.files[0]: give each file a key of its own, or take host and path of its URL (source.keyFrom: path',
    ],
    [{ ...REQUIRED, destination: { bucket: 'UPPER' } }, 'destination.bucket is no bucket name'],
    [{ ...REQUIRED, destination: { prefix: 'a' } }, 'destination.prefix does not end with "/"'],
    [{ ...REQUIRED, destination: { prefix: 'a/_export/' } }, 'destination.prefix contains the segment "_export"'],
    [{ ...REQUIRED, destination: { region: 'x' } }, 'destination has unknown keys (region)'],
    [{ ...REQUIRED, options: { toleratedFailurePercentage: 101 } }, 'options.toleratedFailurePercentage must be 0 to 100'],
    [{ ...REQUIRED, options: { toleratedFailurePercentage: -1 } }, 'options.toleratedFailurePercentage must be 0 to 100'],
    [{ ...REQUIRED, options: { toleratedFailureCount: 1.5 } }, 'options.toleratedFailureCount'],
    [{ ...REQUIRED, options: { maxConcurrency: 0 } }, 'options.maxConcurrency must be at least 1'],
    [{ ...REQUIRED, options: { failFast: 'yes' } }, 'options.failFast has the wrong type: it must be of type boolean'],
    [{ ...REQUIRED, options: { toleratedFailures: 1 } }, 'options has unknown keys (toleratedFailures)'],
    [{ ...REQUIRED, options: { headers: { Range: 'x' } } }, 'options.headers holds "Range"'],
    [{ ...REQUIRED, options: { expectContentType: 'pdf' } }, 'options.expectContentType is no media type'],
    [{ ...REQUIRED, destinaton: { bucket: 'b' } }, 'destinaton is no field of a message: is it meant to be destination?'],
    [{ ...REQUIRED, Source: {} }, 'Source is no field of a message: is it meant to be source?'],
    [{ ...REQUIRED, option: {} }, 'option is no field of a message: is it meant to be options?'],
    [{ ...REQUIRED, task_token: TOKEN }, 'task_token is no field of a message: is it meant to be taskToken?'],
    [{ ...REQUIRED, metadata: { text: 'ä'.repeat(2_048) } }, 'metadata is over 4096 bytes of JSON'],
  ];
  for (const [message, reason] of problems)
    it(`says where, what and how to mend it: ${reason}`, () => {
      expect(reasonsOf(message)).toEqual([expect.stringContaining(reason)]);
    });

  it('names every problem at once, the first 20 of them', () => {
    expect(reasonsOf({ taskToken: '', options: { maxConcurrency: 0 } })).toHaveLength(5);
    expect(reasonsOf({ ...REQUIRED, source: { files: Array.from({ length: 30 }, () => ({ url: 'nothing' })) } })).toHaveLength(20);
  });

  it('still gives the token and the job when they can be read', () => {
    expect(parse({ ...REQUIRED, taskToken: TOKEN, options: 1 })).toMatchObject({ jobId: 'abc-123', taskToken: TOKEN });
    expect(parse({ jobId: 1, taskToken: TOKEN })).toEqual({ kind: 'unusable', reasons: expect.anything(), taskToken: TOKEN });
    expect(parse({ ...REQUIRED, taskToken: TOKEN, source: { files: [{ url: 'x' }] } })).toMatchObject({ taskToken: TOKEN });
  });

  it('shows no token, header or URL in its reasons', () => {
    const secret = 'secret-value';
    const reasons = [
      { ...REQUIRED, taskToken: [secret] },
      { ...REQUIRED, taskToken: secret.repeat(300) },
      { ...REQUIRED, options: { headers: { 'x-key': `${secret}\n` } } },
      { ...REQUIRED, options: { headers: { 'x-key': [secret] } } },
      { ...REQUIRED, source: { manifest: `https://user:${secret}@host/?sig=${secret}` } },
      { ...REQUIRED, source: { files: [{ url: `gopher://host/?sig=${secret}` }] } },
      { ...REQUIRED, source: { files: [{ url: `https://host/?sig=${secret}` }] } },
    ].flatMap(reasonsOf);
    expect(reasons).toHaveLength(7);
    expect(reasons.join()).not.toContain(secret);
    expect(JSON.stringify(parseExportJobMessage(`{"taskToken":"${secret}"`))).not.toContain(secret);
  });

  it('is told so when it is over 1 MiB, or nested beyond any use', () => {
    expect(reasonsOf({ ...REQUIRED, x: 'x'.repeat(1_048_576) })).toEqual([expect.stringContaining('1048576 bytes')]);
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    expect(parseExportJobMessage(`{"jobId":"a","exportId":"b","userId":"c","metadata":{"x":${deep}}}`).kind).toBe('unusable');
  });
});
