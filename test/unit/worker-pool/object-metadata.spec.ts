import { describe, expect, it } from '@jest/globals';
import { isSameObject, objectMetadata, type SourceVersion } from '../../../src/worker-pool/domain/object-metadata.js';
import type { TransferTask } from '../../../src/worker-pool/domain/transfer-task.js';

const task: TransferTask = {
  taskId: 'job#0#1',
  jobId: 'job',
  url: 'https://user:secret@example.com/a%20b/ü.csv?token=secret#part',
  s3Bucket: 'bucket',
  s3Key: 'key',
  attempt: 1,
};
const md5 = { algorithm: 'md5', value: 'a'.repeat(32) } as const;
const source: SourceVersion = { size: 10, etag: '"v1"' };

function stored(byTask: TransferTask, from: SourceVersion, size = 10) {
  return { size, etag: '"s3"', metadata: objectMetadata(byTask, from, 'attempt', undefined) };
}

describe('objectMetadata', () => {
  it('holds the source without its credentials, query and fragment', () => {
    const metadata = objectMetadata(task, source, 'attempt', 'hash');
    expect(metadata['source-url']).toBe('https://example.com/a%20b/%C3%BC.csv');
    expect(JSON.stringify(metadata)).not.toContain('secret');
  });

  it('stays within 2 KB of ASCII, whatever the task brings', () => {
    const long = { ...task, url: `https://example.com/${'ü'.repeat(3_000)}`, jobId: 'ö'.repeat(300), taskId: `\ud800${'ä'.repeat(300)}` };
    const metadata = objectMetadata(long, { etag: `"${'x'.repeat(1_500)}"`, lastModified: 'then' }, 'attempt', 'f'.repeat(64));
    const text = Object.entries(metadata).flat().join('');
    expect(text.length).toBeLessThanOrEqual(2_048);
    expect(text).toMatch(/^[\x20-\x7e]*$/);
    expect(metadata).toMatchObject({ 'upload-attempt': 'attempt', sha256: 'f'.repeat(64) });
  });

  it('cuts a long URL between escapes', () => {
    for (const path of ['ü', 'aü', 'aaü']) {
      const metadata = objectMetadata({ ...task, url: `https://example.com/${path.repeat(900)}` }, source, 'attempt', undefined);
      expect(() => decodeURI(metadata['source-url']?.replace(/%C3$/, '') ?? '%')).not.toThrow();
    }
  });
});

describe('isSameObject', () => {
  it.each<{ why: string; now: TransferTask; source: SourceVersion; was?: ReturnType<typeof stored>; same: boolean }>([
    { why: 'same size and strong ETag of the same URL', now: task, source, same: true },
    { why: 'the same URL signed anew', now: { ...task, url: `${task.url.split('?')[0]}?token=other` }, source, same: true },
    { why: 'another ETag', now: task, source: { size: 10, etag: '"v2"' }, same: false },
    { why: 'another size', now: task, source: { size: 11, etag: '"v1"' }, same: false },
    { why: 'another URL', now: { ...task, url: 'https://example.com/other' }, source, same: false },
    { why: 'no ETag', now: task, source: { size: 10 }, same: false },
    { why: 'a size that nobody knows', now: task, source: { etag: '"v1"' }, same: false },
    {
      why: 'a weak ETag',
      now: task,
      source: { size: 10, etag: 'W/"v1"' },
      was: stored(task, { size: 10, etag: 'W/"v1"' }),
      same: false,
    },
    { why: 'a checksum that the object was not verified with', now: { ...task, checksum: md5 }, source, same: false },
    {
      why: 'the same checksum and size, whatever the source',
      now: { ...task, checksum: md5, size: 10, url: 'https://example.com/other' },
      source: {},
      was: stored({ ...task, checksum: md5 }, {}),
      same: true,
    },
    {
      why: 'another checksum',
      now: { ...task, checksum: { ...md5, value: 'b'.repeat(32) } },
      source,
      was: stored({ ...task, checksum: md5 }, source),
      same: false,
    },
  ])('$why: $same', ({ now, source, was, same }) => {
    expect(isSameObject(was ?? stored(task, { size: 10, etag: '"v1"' }), now, source)).toBe(same);
  });
});
