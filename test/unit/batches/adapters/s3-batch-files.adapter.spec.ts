import { describe, expect, it } from '@jest/globals';
import { S3BatchFilesAdapter } from '../../../../src/batches/adapters/s3-batch-files.adapter.js';
import { s3Objects } from '../../../support/s3-objects.js';

const HEADER = { v: 1, jobId: 'job-1', batchNo: 0, firstIndex: 0, bucket: 'exports', prefix: 'p/' };
const TASK = { url: 'https://origin.test/0', key: '0' };
const lines = (...values: unknown[]) => values.map((value) => JSON.stringify(value)).join('\n');
const load = (segment: string | Error | undefined) =>
  new S3BatchFilesAdapter(s3Objects(segment === undefined ? {} : { segment }).client).loadSegment(
    'exports',
    'segment',
    new AbortController().signal,
  );

describe('a segment', () => {
  it('is read whole', async () => {
    await expect(load(lines(HEADER, TASK))).resolves.toMatchObject({ jobId: 'job-1', prefix: 'p/', tasks: [TASK] });
  });

  it.each([
    ['is not there', undefined, 's3://exports/segment is not there any more'],
    ['is empty', '', 's3://exports/segment is empty'],
    ['is no JSON', 'a web page', 's3://exports/segment is not what this service wrote'],
    ['is something else', lines({ v: 1 }, TASK), 's3://exports/segment is not what this service wrote'],
  ])('that %s is broken for good', async (_case, segment, message) => {
    await expect(load(segment)).rejects.toMatchObject({ code: 'EXPORT_FILE_BROKEN', disposition: 'reject', message });
  });

  it('of a newer version is not broken: a coordinator of that version reads it', async () => {
    await expect(load(lines({ ...HEADER, v: 2 }, TASK))).rejects.not.toHaveProperty('disposition');
  });

  it('that cannot be asked for is not broken either', async () => {
    const denied = Object.assign(new Error('denied'), { name: 'AccessDenied' });
    await expect(load(denied)).rejects.toBe(denied);
  });
});
