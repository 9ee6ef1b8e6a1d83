import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { StopExecutionCommand } from '@aws-sdk/client-sfn';
import { ExportFixture } from '../e2e/export-fixture.js';
import { expectWholeJob } from '../e2e/whole-job.js';
import { RequestLimit } from '../chaos/request-limit.js';
import { eventually } from './local-aws.js';
import { Origin, send, type Answer } from './origin.js';

/** Hosts that keep whoever asks them, by how they answer. */
const KEEPERS: { keeps: string; answer: Answer }[] = [
  { keeps: 'accepts and never answers', answer: () => undefined },
  { keeps: 'answers 429 with Retry-After: 60', answer: (_request, response) => response.writeHead(429, { 'retry-after': '60' }).end() },
  { keeps: 'answers 429 without a time', answer: (_request, response) => response.writeHead(429).end() },
  {
    keeps: 'drips one byte a second',
    answer: (_request, response) => {
      response.writeHead(200, { 'content-length': 100_000 });
      const drip = setInterval(() => response.write('.'), 1_000);
      response.once('close', () => clearInterval(drip));
    },
  },
];

/** One coordinator with the default settings, for each keeper a job of `many` files, and behind them a job of `few` files of another host. */
export function describeBusyHosts(many: number, few: number): void {
  describe(`jobs of ${many} files of hosts that keep them`, () => {
    let fixture: ExportFixture;
    let keepers: { host: Origin; jobs: { arn: string; jobId: string } }[];
    beforeAll(async () => {
      fixture = await ExportFixture.start();
      await fixture.startService({ ALLOWED_SOURCE_BUCKETS: fixture.aws.resources.bucket });
      keepers = await Promise.all(KEEPERS.map(async ({ answer }, index) => keep(await Origin.start(`127.0.0.${index + 2}`), answer)));
    });
    afterAll(async () => {
      await Promise.all(keepers.map(({ host }) => host.close()));
      await fixture.close();
    });

    async function keep(host: Origin, answer: Answer) {
      const list = Array.from({ length: many }, (_, index) => JSON.stringify({ url: host.on(`/kept/${index}`, answer) }));
      const { bucket } = fixture.aws.resources;
      await fixture.clients.s3.send(new PutObjectCommand({ Bucket: bucket, Key: `lists/${host.name}.jsonl`, Body: list.join('\n') }));
      return { host, jobs: await fixture.startExecution({ source: { manifest: `s3://${bucket}/lists/${host.name}.jsonl` } }) };
    }

    it(`hold up no job of ${few} files of another host`, async () => {
      for (const { host, jobs } of keepers) {
        await fixture.jobIn(jobs.jobId, 'DOWNLOADING');
        await eventually(() => host.totalHits >= 5);
      }
      const free = await fixture.startExecution({ source: { files: fixture.smallFiles(few, 'free') } });
      await expectWholeJob(fixture, { ...free, total: few });
      // The jobs that are kept are still there: nothing was won by their end.
      for (const { jobs } of keepers) expect(await fixture.jobRow(jobs.jobId)).toMatchObject({ status: 'DOWNLOADING', completedTasks: 0 });
      for (const { jobs } of keepers) await fixture.clients.states.send(new StopExecutionCommand({ executionArn: jobs.arn }));
    });
  });
}

/** The requests over the limit are answered `refusal`. */
function limitedTo(perSecond: number, refusal: { status: number; headers: Record<string, string> }, body: string): Answer {
  const limit = new RequestLimit(perSecond);
  return (_request, response) => {
    if (limit.allows()) send(response, Buffer.from(body));
    else response.writeHead(refusal.status, refusal.headers).end();
  };
}

/** One job of `files` small files of an origin that allows `perSecond` requests a second. */
export function describeLimitedOrigin(perSecond: number, files: number): void {
  describe(`an origin that allows ${perSecond} requests a second`, () => {
    let fixture: ExportFixture;
    const origins: Origin[] = [];
    beforeAll(async () => {
      fixture = await ExportFixture.start();
      await fixture.startService();
    });
    afterAll(async () => {
      await Promise.all(origins.map((origin) => origin.close()));
      await fixture.close();
    });

    it.each([
      { says: '429 with Retry-After: 1', status: 429, headers: { 'retry-after': '1' } as Record<string, string> },
      { says: '429 without a time', status: 429, headers: {} as Record<string, string> },
      { says: '503 without a time', status: 503, headers: {} as Record<string, string> },
    ])(`and answers the others $says gives a job its ${files} files`, async ({ status, headers }) => {
      const origin = await Origin.start(`127.0.0.${10 + origins.length}`);
      origins.push(origin);
      const answer = limitedTo(perSecond, { status, headers }, 'a small file');
      const list = Array.from({ length: files }, (_, index) => ({ url: origin.on(`/f/${index}`, answer) }));
      const job = await fixture.startExecution({ source: { files: list } });
      await expectWholeJob(fixture, { ...job, total: files });
      // It is asked at its own pace: few are refused after the first burst of 32.
      expect(origin.totalHits).toBeLessThan(files * 1.5 + 40);
    });
  });
}
