import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DeleteQueueCommand, SetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { DeleteTableCommand } from '@aws-sdk/client-dynamodb';
import type { LocalAws } from '../../infra/local-aws/local-aws.js';
import { ExportService } from '../support/export-service.js';
import { eventually } from '../support/local-aws.js';
import { readiness } from '../support/readiness.js';
import { ExportFixture } from './export-fixture.js';

const HOUR_MS = 3_600_000;
/** Without a limit of its own, an answer takes the SDK's three tries of a minute. */
const SOON_MS = 30_000;

describe('a dependency that is not there', () => {
  let fixture: ExportFixture;
  let silences: (() => void)[];

  beforeEach(async () => {
    fixture = await ExportFixture.start();
    silences = [];
  });
  afterEach(async () => {
    for (const end of silences) end();
    await fixture.close();
  });

  /** The service in an environment that cannot work, and how it ended. */
  async function ended(over: Record<string, string>) {
    const service = ExportService.launch({ ...fixture.aws.environment(), ...over });
    const { code } = await service.exited;
    const errors = service.events().filter(({ level }) => level === 'error');
    return { code, errors, plain: service.lines.filter((line) => !line.startsWith('{')) };
  }
  const silence = ({ faults, s3 }: LocalAws) => {
    silences.push(faults.add({ service: 'dynamodb', action: { kind: 'delay', ms: HOUR_MS } }));
    silences.push(faults.add({ service: 'sqs', action: { kind: 'delay', ms: HOUR_MS } }));
    silences.push(s3.faults.add({ action: { kind: 'delay', ms: HOUR_MS } }));
  };

  it('A start ends when something is missing: all of it is named with its mend, and the exit code is that of a wrong configuration', async () => {
    const { SQS_JOBS_QUEUE_URL: url = '' } = fixture.aws.environment();
    const { code, errors, plain } = await ended({
      DYNAMODB_BATCHES_TABLE: 'nope',
      // A table that is there, but another one.
      DYNAMODB_RECLAIMS_TABLE: fixture.aws.resources.coordinatorsTable,
      SQS_BATCHES_QUEUE_URL: `${url}-nope`,
      SQS_DLQ_URL: `${url}-nope-dlq`,
      EXPORT_BUCKET: 'nope',
    });
    expect(code).toBe(78);
    expect(plain).toEqual([]);
    const named = errors.filter(({ mend }) => mend !== undefined);
    expect(named.map(({ dependency, resource }) => [dependency, resource])).toEqual([
      ['batches-table', 'nope'],
      ['reclaims-table', fixture.aws.resources.coordinatorsTable],
      ['batches-queue', `${url}-nope`],
      ['dead-letter-queue', `${url}-nope-dlq`],
      ['export-bucket', 'nope'],
    ]);
    expect(named[0]).toMatchObject({
      reason: 'ResourceNotFoundException (400)',
      mend: expect.stringContaining('DYNAMODB_BATCHES_TABLE') as unknown,
    });
    expect(errors.at(-1)?.msg).toBe('Service could not start');
  });

  it('A wrong secret is told by what AWS answers', async () => {
    const { faults, s3 } = fixture.aws;
    faults.add({ service: 'dynamodb', action: { kind: 'fail', status: 400, type: 'InvalidSignatureException' } });
    faults.add({ service: 'sqs', action: { kind: 'fail', status: 403, type: 'SignatureDoesNotMatch' } });
    s3.faults.add({ action: { kind: 'fail', status: 403, code: 'SignatureDoesNotMatch' } });
    const { code, errors } = await ended({});
    faults.clear();
    expect(code).toBe(78);
    expect(new Set(errors.map(({ reason }) => reason).filter((reason) => reason !== undefined))).toEqual(
      new Set(['InvalidSignatureException (400)', 'SignatureDoesNotMatch (403)', 'AccessDenied (403)']),
    );
  });

  it('does not end a service that runs: readiness names it, and what helps', async () => {
    const service = await fixture.startService();
    const { batchesTable, batchesQueueUrl } = fixture.aws.resources;
    await fixture.clients.dynamodb.send(new DeleteTableCommand({ TableName: batchesTable }));
    await fixture.clients.sqs.send(new DeleteQueueCommand({ QueueUrl: batchesQueueUrl }));
    const { failed } = await eventually(async () => {
      const answer = await readiness(service);
      return answer.failed.length === 2 ? answer : undefined;
    });
    expect(failed).toMatchObject([
      { name: 'batches-table', resource: batchesTable, mend: expect.stringContaining('DYNAMODB_BATCHES_TABLE') as unknown },
      { name: 'batches-queue', resource: batchesQueueUrl, mend: expect.stringContaining('SQS_BATCHES_QUEUE_URL') as unknown },
    ]);
    await eventually(() => service.said('A dependency cannot be used'));
  });

  it('Readiness answers within its limit, however silent everything is, and a start goes on without what is silent', async () => {
    const service = await fixture.startService();
    expect(await readiness(service)).toMatchObject({ status: 200, failed: [] });
    silence(fixture.aws);
    const answer = await eventually(async () => {
      const askedAt = performance.now();
      const now = await readiness(service);
      expect(performance.now() - askedAt).toBeLessThan(SOON_MS);
      return now.status === 503 ? now : undefined;
    });
    expect(answer.failed.map(({ reason }) => reason)).toEqual(Array.from({ length: 8 }, () => 'no answer within 2 s'));
    for (const end of silences) end();
    await eventually(async () => (await readiness(service)).status === 200);
  });

  it('is no reason to be unready where only the question is forbidden', async () => {
    const { faults, s3 } = fixture.aws;
    s3.faults.add({ operation: 'HeadBucket', action: { kind: 'fail', status: 403, code: 'AccessDenied' } });
    faults.add({
      service: 'sqs',
      operation: 'GetQueueAttributes',
      when: (body) => (body as { QueueUrl?: string }).QueueUrl === fixture.aws.resources.jobsDeadLetterQueueUrl,
      action: { kind: 'fail', status: 403, type: 'AccessDenied' },
    });
    const service = await fixture.startService();
    const { status, checks } = await readiness(service);
    expect(status).toBe(200);
    expect(checks.find(({ name }) => name === 'dead-letter-queue')).toMatchObject({ ok: true, reason: 'AccessDenied (403)' });
  });
});

describe('a jobs queue with a maxReceiveCount of its own', () => {
  it('maxReceiveCount is the queue’s own: with 2, a manifest that answers 503 ends its job with that cause', async () => {
    const fixture = await ExportFixture.start({ queueVisibilityS: 3 });
    try {
      const { jobsQueueUrl, jobsDeadLetterQueueUrl } = fixture.aws.resources;
      const deadLetterTargetArn = `arn:aws:sqs:us-east-1:000000000000:${jobsDeadLetterQueueUrl.split('/').at(-1)}`;
      const RedrivePolicy = JSON.stringify({ deadLetterTargetArn, maxReceiveCount: 2 });
      await fixture.clients.sqs.send(new SetQueueAttributesCommand({ QueueUrl: jobsQueueUrl, Attributes: { RedrivePolicy } }));
      const service = await fixture.startService({ SQS_HEARTBEAT_INTERVAL_MS: '1000' });
      const manifest = fixture.origin.on('/list.jsonl', (_request, response) => void response.writeHead(503).end());
      const { arn } = await fixture.startExecution({ source: { manifest } });
      const { error, cause } = await fixture.ended(arn);
      expect(error).toBe('ExportIntakeFailed');
      expect(cause).toContain('HTTP_503');
      expect(cause).toContain('2 receives');
      expect(service.said('Jobs queue: a message has 2 receives')).toBe(true);
    } finally {
      await fixture.close();
    }
  });
});
