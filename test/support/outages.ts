import { setTimeout as sleep } from 'node:timers/promises';
import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { FaultAction } from '../../infra/local-aws/gateway-faults.js';
import type { LocalAws } from '../../infra/local-aws/local-aws.js';
import type { AwsService } from '../../infra/local-aws/request-log.js';
import { ExportFixture } from '../e2e/export-fixture.js';
import { deferred } from './deferred.js';
import type { ExportService } from './export-service.js';
import { eventually } from './local-aws.js';

/** How long a service is away: longer than the SDK's own retries last. */
const OUTAGE_MS = 4_000;

const ANSWERS_500: FaultAction = { kind: 'fail', status: 500, type: 'InternalServerError' };
const CUTS: FaultAction = { kind: 'cut' };
const APPLIES: FaultAction = { kind: 'drop-reply' };

/** Begins an outage; the answer ends it. */
type Begin = (aws: LocalAws) => () => void;
const of =
  (service: AwsService, action: FaultAction): Begin =>
  ({ faults }) =>
    faults.add({ service, action });

const OUTAGES = {
  'of DynamoDB, which answers 500,': of('dynamodb', ANSWERS_500),
  'of DynamoDB, which cuts connections,': of('dynamodb', CUTS),
  'of DynamoDB, which applies and does not answer,': of('dynamodb', APPLIES),
  'of SQS, which answers 500,': of('sqs', ANSWERS_500),
  'of SQS, which cuts connections,': of('sqs', CUTS),
  'of SQS, which applies and does not answer,': of('sqs', APPLIES),
  'of Step Functions, which answers 500,': of('states', ANSWERS_500),
  'of Step Functions, which cuts connections,': of('states', CUTS),
  'of Step Functions, which applies and does not answer,': of('states', APPLIES),
  'of S3, which answers 503,': ({ s3 }) => s3.faults.add({ action: { kind: 'fail', status: 503, code: 'SlowDown' } }),
} satisfies Record<string, Begin>;
export type Outage = keyof typeof OUTAGES;

/** One service goes through all of these, one after another. */
export function describeOutages(outages: readonly Outage[]): void {
  describe('an outage in the middle of a job', () => {
    let fixture: ExportFixture;
    let service: ExportService;

    beforeAll(async () => {
      fixture = await ExportFixture.start({ queueVisibilityS: 3 });
      service = await fixture.startService({
        BATCH_HEARTBEAT_INTERVAL_MS: '300',
        STEP_FUNCTIONS_HEARTBEAT_INTERVAL_MS: '1000',
        SQS_HEARTBEAT_INTERVAL_MS: '1000',
      });
    });
    afterAll(() => fixture.close());

    /**
     * 210 files; the outage comes once 50 have been asked for, and the others are answered when it
     * has begun.
     */
    async function runThrough(name: string, begin: () => () => void): Promise<void> {
      const outageHasBegun = deferred();
      let asked = 0;
      const files = Array.from({ length: 210 }, (_, index) => ({
        url: fixture.origin.on(`/${name}/${index}`, (_request, response) => {
          const open = ++asked <= 50 ? Promise.resolve() : outageHasBegun.promise;
          void open.then(() => response.end('body'));
        }),
        key: String(index),
        size: 4,
      }));
      const { arn, jobId } = await fixture.startExecution({ source: { files } });
      await eventually(() => asked > 50);
      const end = begin();
      outageHasBegun.resolve();
      await sleep(OUTAGE_MS);
      end();
      expect((await fixture.ended(arn)).status).toBe('SUCCEEDED');
      expect(await fixture.jobIn(jobId, 'COMPLETED')).toMatchObject({ completedTasks: 210, failedTasks: 0, bytesProcessed: 840 });
      expect(await fixture.fileKeys(jobId)).toHaveLength(210);
      expect(
        fixture.aws.stepFunctions
          .tokens()
          .at(-1)
          ?.answers.filter(({ accepted }) => accepted),
      ).toHaveLength(1);
    }

    it.each(outages)('%s loses and repeats nothing', (outage) =>
      runThrough(String(outages.indexOf(outage)), () => OUTAGES[outage](fixture.aws)),
    );

    it('leaves the loops turning', async () => {
      await fixture.clients.sqs.send(new SendMessageCommand({ QueueUrl: fixture.aws.resources.batchesQueueUrl, MessageBody: 'garbage' }));
      await eventually(() => service.said('none of ours'));
      for (const path of ['/health/live', '/health/ready']) {
        const answer = await fetch(service.url + path);
        expect([path, answer.status]).toEqual([path, 200]);
      }
      expect(await (await fetch(`${service.url}/metrics`)).text()).toContain('heartbeat_success_total');
    });
  });
}
