import type { OutgoingHttpHeaders } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { StopExecutionCommand } from '@aws-sdk/client-sfn';
import { ExportFixture } from '../e2e/export-fixture.js';
import { expectWholeJob } from '../e2e/whole-job.js';
import { RequestLimit } from '../chaos/request-limit.js';
import { eventually } from './local-aws.js';
import { Origin, send, type Answer } from './origin.js';

interface Keeper {
  keeps: string;
  answer: Answer;
}

/** Hosts that keep whoever asks them, by how they answer. */
const KEEPERS: Keeper[] = [
  { keeps: 'accepts and never answers', answer: () => undefined },
  { keeps: 'answers 429 with Retry-After: 60', answer: (_request, response) => response.writeHead(429, { 'retry-after': '60' }).end() },
  { keeps: 'answers 429 without a time', answer: (_request, response) => response.writeHead(429).end() },
  { keeps: 'drips one byte a second', answer: drips({ 'content-length': 100_000 }, 1_000) },
];

/** Hosts whose files need memory for a part, and do not fill it. Silent between their bytes, so that many are under way: 32 parts are all the memory. */
const MEMORY_KEEPERS: Keeper[] = [
  { keeps: 'drips a file of 10 MB, one byte in 5 s', answer: drips({ 'content-length': 10_000_000 }, 5_000) },
  { keeps: 'drips chunks without a length, one byte in 5 s', answer: drips({ 'transfer-encoding': 'chunked' }, 5_000) },
  {
    keeps: 'sends enough of each file to hold memory for a part of it, and then drips',
    answer: drips({ 'content-length': 10_000_000 }, 5_000, 300_000),
  },
];

function drips(headers: OutgoingHttpHeaders, everyMs: number, atOnce = 0): Answer {
  return (_request, response) => {
    response.writeHead(200, headers);
    response.write('.'.repeat(atOnce + 1));
    const drip = setInterval(() => response.write('.'), everyMs);
    response.once('close', () => clearInterval(drip));
  };
}

/** Far beyond what is needed, and less than it takes until a drip is ended for its slowness and leaves what it holds to others. */
const UNHELD_MS = 60_000;

/** Both kinds, each with a coordinator of its own: among many jobs none gets connections enough to hold all the memory. */
export function describeBusyHosts(many: number, few: number): void {
  describe('hosts that keep places', () => describeKeepers(KEEPERS, { many, few, hits: 5 * KEEPERS.length }));
  describe('hosts that keep memory', () => describeKeepers(MEMORY_KEEPERS, { many, few, hits: 64 }));
}

/** One coordinator with the default settings, for each keeper a job of `many` files, and behind them a job of `few` files of another host. */
function describeKeepers(by: readonly Keeper[], { many, few, hits }: { many: number; few: number; hits: number }): void {
  describe(`jobs of ${many} files of hosts that keep them`, () => {
    let fixture: ExportFixture;
    let keepers: { host: Origin; jobs: { arn: string; jobId: string } }[];
    beforeAll(async () => {
      fixture = await ExportFixture.start();
      await fixture.startService({ ALLOWED_SOURCE_BUCKETS: fixture.aws.resources.bucket });
      keepers = await Promise.all(by.map(async ({ answer }, index) => keep(await Origin.start(`127.0.0.${index + 2}`), answer)));
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
      await eventually(() => keepers.reduce((sum, { host }) => sum + host.totalHits, 0) >= hits);
      const free = await fixture.startExecution({ source: { files: fixture.smallFiles(few, 'free') } });
      await expectWholeJob(fixture, { ...free, total: few }, UNHELD_MS);
      // Files that need memory for a part, too.
      const list = Array.from({ length: 8 }, (_, index) => ({
        url: fixture.origin.file(`/large/${index}`, Buffer.alloc(1_000_000, index)),
      }));
      const large = await fixture.startExecution({ source: { files: list } });
      await expectWholeJob(fixture, { ...large, total: list.length }, UNHELD_MS);
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
