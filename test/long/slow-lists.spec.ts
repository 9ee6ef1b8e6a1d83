import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/local-aws.js';
import type { ExportService } from '../support/export-service.js';
import { CommandProcess } from '../e2e/command-process.js';
import { ExportFixture } from '../e2e/export-fixture.js';

const LIST_HEAD = { 'content-type': 'text/plain', 'transfer-encoding': 'chunked' };

describe('a job with a quick list is not kept waiting', () => {
  let fixture: ExportFixture;
  let first: ExportService;

  beforeEach(async () => {
    fixture = await ExportFixture.start();
    first = await fixture.startService();
  });
  afterEach(() => fixture.close());

  /** Jobs whose lists do as told; each has been asked for when this resolves. */
  async function startLists(count: number, answer: (response: ServerResponse, line: string) => void) {
    const file = fixture.origin.file('/file', 'a file');
    const jobs: { arn: string; jobId: string; path: string }[] = [];
    for (let list = 0; list < count; list++) {
      const path = `/list-${list}`;
      const manifest = fixture.origin.on(path, (_request, response) => answer(response, `${file}?${list}`));
      jobs.push({ path, ...(await fixture.startExecution({ source: { manifest } })) });
    }
    await eventually(() => jobs.every(({ path }) => fixture.origin.hitsOf(path) > 0));
    return jobs;
  }

  async function startSmallJobs(count: number) {
    const files = fixture.smallFiles(count, 'quick');
    return Promise.all(files.map((file) => fixture.startExecution({ source: { files: [file] } })));
  }

  async function expectSuccess(jobs: readonly { arn: string }[]): Promise<void> {
    for (const { arn } of jobs) expect((await fixture.ended(arn)).status).toBe('SUCCEEDED');
  }

  async function cancel(jobs: readonly { jobId: string }[]): Promise<void> {
    const commands = jobs.map(({ jobId }) => CommandProcess.start('src/cli/main.js', ['cancel', jobId], fixture.aws.environment()));
    for (const { ended } of commands) expect((await ended).code).toBe(0);
  }

  const endedExpansions = (jobs: readonly { jobId: string }[]) =>
    jobs.filter(({ jobId }) => first.events().some((event) => event.jobId === jobId && event.msg.startsWith('Expansion ended')));

  it('by four lists that drip a line a second: ten jobs are done while all four are still being read', async () => {
    const dripping = await startLists(4, (response, line) => {
      response.writeHead(200, LIST_HEAD);
      const drip = setInterval(() => response.write(`${line}\n`), 1_000);
      response.once('close', () => clearInterval(drip));
    });
    await fixture.startService();
    await expectSuccess(await startSmallJobs(10));
    expect(dripping.map(({ path }) => fixture.origin.hitsOf(path))).toEqual([1, 1, 1, 1]);
    expect(fixture.origin.openRequests).toBe(4);
  });

  it('by four lists whose host asked for 90 s of patience, which end at once when they are cancelled', async () => {
    const waiting = await startLists(4, (response) => void response.writeHead(429, { 'retry-after': '90' }).end());
    await expectSuccess(await startSmallJobs(2));
    await cancel(waiting);
    await eventually(() => endedExpansions(waiting).length === 4);
    expect(waiting.map(({ path }) => fixture.origin.hitsOf(path))).toEqual([1, 1, 1, 1]);
  });

  it('by four lists that never answer, whose connections end when they are cancelled', async () => {
    const silent = await startLists(4, () => undefined);
    await expectSuccess(await startSmallJobs(2));
    expect(fixture.origin.openRequests).toBe(4);
    await cancel(silent);
    await eventually(() => endedExpansions(silent).length === 4);
    await eventually(() => fixture.origin.openRequests === 0);
  });

  it('by a list of the same host that never answers where only one may be open: it goes to a coordinator that can open it', async () => {
    await first.stop();
    first = await fixture.startService({ MAX_OPEN_LISTS: '2' });
    const [silent] = await startLists(1, () => undefined);
    const manifest = fixture.origin.file('/quick-list', `${fixture.origin.file('/quick-file', 'a file')}\n`);
    const quick = await fixture.startExecution({ source: { manifest } });
    await eventually(async () => (await fixture.jobRow(quick.jobId)) !== undefined);
    expect(fixture.origin.hitsOf('/quick-list')).toBe(0);
    await fixture.startService({ MAX_OPEN_LISTS: '2' });
    expect((await fixture.ended(quick.arn, 60_000)).status).toBe('SUCCEEDED');
    expect(first.events()).toContainEqual(expect.objectContaining({ jobId: quick.jobId, handOns: 1, delayS: 0 }));
    expect(fixture.origin.hitsOf(silent?.path ?? '')).toBe(1);
  });
});
