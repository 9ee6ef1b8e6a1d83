import { expect } from '@jest/globals';
import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { deferred } from '../support/deferred.js';
import type { ExportService, Signalled } from '../support/export-service.js';
import { eventually } from '../support/local-aws.js';
import { send } from '../support/origin.js';
import { SECRET, type ExportFixture } from './export-fixture.js';
import { holdersOf, startGatedJob } from './gated-job.js';
import { expectWholeJob } from './whole-job.js';

const CAPACITY = 8;
const TOTAL = 60;
/** Small batches, few in a hand: a second coordinator finds some, too. */
const ENVIRONMENT = {
  SHUTDOWN_TIMEOUT_MS: '8000',
  WORKER_POOL_SIZE: '2',
  TASKS_PER_WORKER: '4',
  BATCH_SIZE: '10',
  MAX_BATCHES_IN_HAND: '3',
};
const LISTED = 5;

/** How a fleet is deployed: whom the signal reaches, which one it is, and how many coordinators there are. */
export interface Deployment {
  signalled: Signalled;
  signal: NodeJS.Signals;
  coordinators: number;
}

interface HeldJob {
  arn: string;
  jobId: string;
  total: number;
  open: () => void;
}

/** A job whose manifest is open and says nothing until the test opens it: its message is held all the time. */
async function startHeldJob(fixture: ExportFixture): Promise<HeldJob> {
  const gate = deferred();
  const files = Array.from({ length: LISTED }, (_, index) => fixture.origin.file(`/listed/${index}`, `listed ${index} ${SECRET}`));
  const list = files.map((url, index) => JSON.stringify({ url, key: `listed/${index}` })).join('\n');
  const manifest = fixture.origin.on('/list.jsonl', (_request, response) => {
    void gate.promise.then(() => send(response, Buffer.from(list)));
  });
  return { ...(await fixture.startExecution({ source: { manifest } })), total: LISTED, open: gate.resolve };
}

/** How often a message has been received from the jobs queue, by whomever. */
function receivesOfJobs(fixture: ExportFixture): number {
  const receives = fixture.aws.log.of('sqs', 'ReceiveMessage').filter(({ resource }) => resource === 'local-jobs');
  return receives.reduce((sum, { detail }) => sum + Number(detail?.entries), 0);
}

async function deadLetters({ clients, aws }: ExportFixture): Promise<number> {
  const { jobsDeadLetterQueueUrl, batchesDeadLetterQueueUrl } = aws.resources;
  const counts = [jobsDeadLetterQueueUrl, batchesDeadLetterQueueUrl].map(async (QueueUrl) => {
    const command = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['ApproximateNumberOfMessages'] });
    return Number((await clients.sqs.send(command)).Attributes?.ApproximateNumberOfMessages);
  });
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}

/** The one that has the held job's message. */
function holderOf(services: readonly ExportService[], { jobId }: HeldJob): ExportService | undefined {
  return services.find((service) => service.events().some((event) => event.msg === 'Job message received' && event.jobId === jobId));
}

/**
 * Each time it is the coordinator that holds the job message, and batches of a running job, that is replaced. A deploy costs the message one
 * receive; nothing is dead-lettered or left running, and no file is asked for twice but those that were under way.
 */
export async function expectDeploysToCostNothing(fixture: ExportFixture, deployment: Deployment, deploys: number): Promise<void> {
  const { signalled, signal, coordinators } = deployment;
  const start = () => fixture.startService(ENVIRONMENT, signalled);
  const services = await Promise.all(Array.from({ length: coordinators }, start));
  const running = await startGatedJob(fixture, { total: TOTAL, atOnce: 20, waiting: CAPACITY, maxConcurrency: CAPACITY });
  const held = await startHeldJob(fixture);
  const holder = () => eventually(() => holderOf(services, held));
  await holder();
  const before = receivesOfJobs(fixture);
  for (let deploy = 1; deploy <= deploys; deploy++) {
    const leaving = await holder();
    const { code } = await leaving.stop(signal);
    expect([deploy, code, leaving.said('Service stopped')]).toEqual([deploy, 0, true]);
    services.splice(services.indexOf(leaving), 1);
    expect((await holdersOf(fixture, running)).has(String(leaving.coordinatorId))).toBe(false);
    services.push(await start());
    await holder();
    expect([deploy, receivesOfJobs(fixture) - before]).toEqual([deploy, deploy]);
    await eventually(() => fixture.origin.openRequests > CAPACITY);
  }
  expect(await deadLetters(fixture)).toBe(0);
  held.open();
  running.open();
  await expectWholeJob(fixture, held);
  await expectWholeJob(fixture, running);
  for (let index = 0; index < running.total; index++)
    expect([index, running.hitsOf(index)]).toEqual([index, 1 + running.cutOff.filter((cut) => cut.index === index).length]);
  expect(await deadLetters(fixture)).toBe(0);
}
