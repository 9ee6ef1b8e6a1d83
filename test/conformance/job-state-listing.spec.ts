import { beforeEach, expect, it } from '@jest/globals';
import type { JobFilter, JobStateRepositoryPort } from '../../src/export-jobs/application/job-state-repository.port.js';
import { ACTIVE_STATUSES } from '../../src/export-jobs/domain/export-job.entity.js';
import { aNewJob, TOKEN } from '../support/builders.js';
import { describeJobRepositories, type JobInRepository } from '../support/job-in-repository.js';

describeJobRepositories((create) => {
  let jobs: JobStateRepositoryPort;
  let job: JobInRepository;
  let jobId: string;
  beforeEach(() => {
    ({ jobs, job, jobId } = create());
  });

  const activeIds = async () => {
    const ids: string[] = [];
    for await (const { jobIds } of jobs.listActive(ACTIVE_STATUSES)) ids.push(...jobIds);
    return ids;
  };

  it('lists active jobs over all shards and pages, and forgets those that ended', async () => {
    const ids = Array.from({ length: 40 }, (_, index) => `${jobId}-${index}`);
    await Promise.all(ids.map((id) => jobs.createIfAbsent(aNewJob({ jobId: id }))));
    expect((await activeIds()).filter((id) => id.startsWith(jobId)).toSorted()).toEqual(ids.toSorted());
    await job.ended();
    await job.created();
    const [gone = '', moved = ''] = ids;
    await jobs.cancelDead(gone, 1, TOKEN);
    await jobs.startDownloading(moved, 1, 2);
    const active = await activeIds();
    expect(active).not.toContain(gone);
    expect(active).not.toContain(jobId);
    expect(active.filter((id) => id === moved)).toHaveLength(1);
  });

  it('lists only the statuses asked for', async () => {
    await job.downloading();
    const ids: string[] = [];
    for await (const { jobIds } of jobs.listActive(['PROCESSING', 'FINALIZING'])) ids.push(...jobIds);
    expect(ids).not.toContain(jobId);
  });

  it('finds more than 100 jobs at a time, and leaves out those that are not there', async () => {
    const ids = Array.from({ length: 130 }, (_, index) => `${jobId}-${index}`);
    await Promise.all(ids.map((id) => jobs.createIfAbsent(aNewJob({ jobId: id }))));
    const all = await jobs.findMany([...ids, ids[0] ?? '', 'nobody']);
    expect(all.map((job) => job.jobId).toSorted()).toEqual(ids.toSorted());
    await expect(jobs.findMany([])).resolves.toEqual([]);
  });

  it('shows the newest active jobs first', async () => {
    const day = (number: number) => aNewJob({ jobId: `${jobId}-${number}`, createdAt: `2126-01-0${number}T00:00:00.000Z` });
    for (const number of [2, 3, 1]) await jobs.createIfAbsent(day(number));
    const newest = await jobs.list(ACTIVE_STATUSES, 2);
    expect(newest.map((job) => job.jobId)).toEqual([`${jobId}-3`, `${jobId}-2`]);
    for (const number of [1, 2, 3]) await jobs.cancelDead(`${jobId}-${number}`, 1, TOKEN);
  });

  it('finds ended jobs, too, by status, by the beginning of their id, and by when they were accepted', async () => {
    const at = (name: string, createdAt: string) => aNewJob({ jobId: `${jobId}-${name}`, createdAt });
    await jobs.createIfAbsent(at('old', '2126-01-01T00:00:00.000Z'));
    await jobs.createIfAbsent(at('new', '2126-01-02T00:00:00.000Z'));
    await jobs.cancelDead(`${jobId}-new`, 1, TOKEN);
    const found = async (filter: JobFilter) => {
      const ids: string[] = [];
      for await (const page of jobs.scan(filter)) ids.push(...page.map((each) => each.jobId));
      return ids.filter((id) => id.startsWith(jobId)).toSorted();
    };
    expect(await found({})).toEqual([`${jobId}-new`, `${jobId}-old`]);
    expect(await found({ statuses: ['CANCELLED', 'FAILED'] })).toEqual([`${jobId}-new`]);
    expect(await found({ idPrefix: `${jobId}-o` })).toEqual([`${jobId}-old`]);
    expect(await found({ createdSince: '2126-01-02T00:00:00.000Z', statuses: ['PROCESSING'] })).toEqual([]);
    await jobs.cancelDead(`${jobId}-old`, 1, TOKEN);
  });
});
