import { describe, expect, it } from '@jest/globals';
import { ExistingObjects } from '../../../src/worker-pool/threads/existing-objects.js';
import type { TransferTask } from '../../../src/worker-pool/index.js';

const task = (jobId: string): TransferTask => ({ taskId: 't', jobId, url: 'https://origin.test/', s3Bucket: 'b', s3Key: 'k', attempt: 1 });
const { signal } = new AbortController();

describe('objects under the keys of a job', () => {
  it('are likely once one was found, and not because one was looked for', async () => {
    let found = false;
    const existing = new ExistingObjects({ head: async () => (found ? { size: 1, etag: 'etag', metadata: {} } : undefined) });
    await existing.look(task('job'), signal);
    expect(existing.areLikely(task('job'))).toBe(false);
    found = true;
    await existing.look(task('job'), signal);
    expect([existing.areLikely(task('job')), existing.areLikely(task('other'))]).toEqual([true, false]);
  });

  it('are not likely because of one whose own answer was lost', async () => {
    const existing = new ExistingObjects({ head: async () => ({ size: 1, etag: 'etag', metadata: { 'upload-attempt': 'ours' } }) });
    await existing.look(task('job'), signal, 'ours');
    expect(existing.areLikely(task('job'))).toBe(false);
    await existing.look(task('job'), signal, 'another');
    expect(existing.areLikely(task('job'))).toBe(true);
  });

  it('are remembered of the hundred jobs that met one last', async () => {
    const existing = new ExistingObjects({ head: async () => ({ size: 1, etag: 'etag', metadata: {} }) });
    for (let job = 0; job < 100; job++) await existing.look(task(`job-${job}`), signal);
    await existing.look(task('job-0'), signal);
    await existing.look(task('job-100'), signal);
    expect(['job-0', 'job-1', 'job-2', 'job-100'].map((job) => existing.areLikely(task(job)))).toEqual([true, false, true, true]);
  });
});
