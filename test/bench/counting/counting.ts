import { JobBatchesAdapter } from '../../../src/batches/adapters/job-batches.adapter.js';
import { DynamoDbBatchRepositoryAdapter } from '../../../src/batches/adapters/dynamo-db-batch-repository.adapter.js';
import { ClaimBatchUseCase } from '../../../src/batches/application/claim-batch.use-case.js';
import { EnqueueBatchesUseCase } from '../../../src/batches/application/enqueue-batches.use-case.js';
import { LeaseService } from '../../../src/batches/application/lease.service.js';
import { ReleaseBatchUseCase } from '../../../src/batches/application/release-batch.use-case.js';
import { RunBatchUseCase } from '../../../src/batches/application/run-batch.use-case.js';
import { WorkSigns } from '../../../src/batches/application/work-signs.js';
import { TaskDispatcherService } from '../../../src/batches/application/task-dispatcher.service.js';
import { DynamoDbJobStateRepositoryAdapter } from '../../../src/export-jobs/adapters/dynamodb/dynamo-db-job-state-repository.adapter.js';
import { CompleteJobUseCase, SettleTokenService } from '../../../src/export-jobs/index.js';
import { batchSizeFor } from '../../../src/intake/domain/export-request.js';
import { startEmbeddedDynamoDb } from '../../support/embedded-dynamodb.js';
import { aNewJob, aPlan, aSegment } from '../../support/builders.js';
import { FakeBatchFiles, FakeBatchQueue } from '../../support/fakes/fake-batch-ports.js';
import { FakeJobResults } from '../../support/fakes/fake-job-ports.js';
import { FakeStepFunctions } from '../../support/fakes/fake-step-functions.js';
import { RecordingLogger } from '../../support/fakes/recording-logger.js';
import { RecordingMetrics } from '../../support/fakes/recording-metrics.js';
import { FakeClock, settled } from '../../support/fake-clock.js';
import { aJobWindow } from '../../support/job-window.js';
import { RatedPool } from './rated-pool.js';
import { itemSize, writeUnits, type Item } from './item-size.js';
import { WriteMeter, type Cost } from './write-meter.js';

/** Of a job whose tasks all succeed. */
export interface CountingCost {
  tasks: number;
  batches: number;
  costs: ReadonlyMap<string, Cost>;
  /** What one `ADD completedTasks :1` per task would cost on this job's row, with an index that projects all of it. */
  addPerTaskUnits: number;
}

/** Small files, as one coordinator brings them: fewer heartbeats fall into a job that runs faster. */
export const TASKS_PER_SECOND = 500;
const STEP_MS = 100;
const CAPACITY = 32;
const BATCHES_IN_HAND = 8;
const JOB_ID = 'job-1';
const HEARTBEAT_MS = 10_000;

/** What each write is for, told from its expression. */
const KINDS: readonly [string, (expression: string) => boolean][] = [
  ['checkpoint', (text) => text.includes('done = :done') && !text.includes(':succeeded')],
  ['count', (text) => text.includes('ADD completedTasks') && !text.includes('endedBatches')],
  ['last count', (text) => text.includes('endedBatches')],
  ['top-up', (text) => text.startsWith('SET sentBatches')],
  ['claim', (text) => text.includes('claimId = :claimId')],
  ['batch end', (text) => text.includes(':succeeded')],
];
/** The others begin and end what there is without any counting: rows, claims, the job's own states. */
export const COUNTING_KINDS: readonly string[] = ['checkpoint', 'count', 'last count', 'top-up'];

/**
 * Runs one job through the service's own claim, checkpoint, count and end on the embedded DynamoDB. Time is virtual: it stands still
 * while requests are under way, so the number of heartbeats does not depend on this machine.
 */
export async function measureCounting(tasks: number, batchSize = batchSizeFor(tasks, 100)): Promise<CountingCost> {
  const database = await startEmbeddedDynamoDb();
  try {
    const meter = new WriteMeter(database.documents, database.tables, ({ isPut, expression }) =>
      isPut ? 'row' : (KINDS.find(([, matches]) => matches(expression))?.[0] ?? 'job state'),
    );
    const world = aWorld(database, batchSize);
    const batchCount = Math.ceil(tasks / batchSize);
    await world.jobs.createIfAbsent(aNewJob({ jobId: JOB_ID }));
    const planned = await world.jobs.recordPlan(JOB_ID, 1, aPlan({ totalTasks: tasks, batchCount, batchSize }));
    if (planned.kind === 'refused') throw new Error('The plan was refused');
    await world.jobs.startDownloading(JOB_ID, 1, await world.enqueue(planned.job));
    await runToEnd(world, meter);
    const job = await world.jobs.find(JOB_ID);
    if (job?.completedTasks !== tasks || job.status !== 'COMPLETED')
      throw new Error(`The job ended as ${job?.status} with ${job?.completedTasks}`);
    return { tasks, batches: batchCount, costs: meter.costs, addPerTaskUnits: tasks * unitsOfAdd(await database.item({ jobId: JOB_ID })) };
  } finally {
    await database.close();
  }
}

type World = ReturnType<typeof aWorld>;

function aWorld({ documents, jobsTable, batchesTable }: Awaited<ReturnType<typeof startEmbeddedDynamoDb>>, batchSize: number) {
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const metrics = new RecordingMetrics();
  const jobs = new DynamoDbJobStateRepositoryAdapter(documents, { table: jobsTable, statusShards: 4, retentionDays: 30 }, clock, logger);
  const batches = new DynamoDbBatchRepositoryAdapter(documents, { table: batchesTable, retentionDays: 30 }, clock);
  const queue = new FakeBatchQueue();
  const jobBatches = new JobBatchesAdapter(batches, queue, clock);
  const { counter, endsCounted, window } = aJobWindow({ jobs, jobBatches, logger });
  const leases = new LeaseService(batches, clock);
  const pool = new RatedPool(CAPACITY);
  const settler = new SettleTokenService(new FakeStepFunctions(), clock, logger, metrics);
  const completeJob = new CompleteJobUseCase(jobs, jobBatches, new FakeJobResults(), settler, clock, logger, metrics);
  const countBatchEnd = endsCounted(completeJob);
  const signs = new WorkSigns(clock);
  const tools = { signs, clock, logger, metrics };
  const dispatcher = new TaskDispatcherService(pool, { taskMaxAttempts: 4, maxConnectionsPerHost: 10_000 }, tools);
  const runBatch = new RunBatchUseCase(
    { coordinatorId: 'bench', heartbeatIntervalMs: HEARTBEAT_MS, ttlMs: {} },
    new ClaimBatchUseCase(jobs, batches, countBatchEnd),
    new SegmentsOfAnyBatch(batchSize),
    dispatcher,
    new ReleaseBatchUseCase(leases, queue, clock, logger),
    completeJob,
    { leases, counter, countBatchEnd, completeJob, jobs, dispatcher, signs, clock, logger, metrics },
  );
  const enqueueBatches = new EnqueueBatchesUseCase(batches, jobBatches, counter, window);
  return { clock, pool, queue, jobs, runBatch, enqueue: enqueueBatches.enqueue.bind(enqueueBatches) };
}

/** Takes batches in as they have room, and lets tasks succeed at the rate. */
async function runToEnd({ clock, pool, queue, runBatch }: World, meter: WriteMeter): Promise<void> {
  let inHand = 0;
  let next = 0;
  while (next < queue.sent.length || inHand > 0) {
    for (; inHand < BATCHES_IN_HAND && next < queue.sent.length; next++) {
      const message = queue.sent[next];
      if (message === undefined) break;
      inHand++;
      void runBatch.run(message, async () => undefined).finally(() => inHand--);
    }
    await quiet(meter);
    await pool.succeed((TASKS_PER_SECOND * STEP_MS) / 1_000);
    await quiet(meter);
    await clock.advance(STEP_MS);
  }
}

/** Until nothing is under way but what waits for time or for tasks. */
async function quiet(meter: WriteMeter): Promise<void> {
  do {
    await settled();
    while (meter.requestsOpen > 0) await settled();
    await settled();
  } while (meter.requestsOpen > 0);
}

function unitsOfAdd(row: Item): number {
  const { batchProgress: _progress, endedBatches: _ended, ...plain } = row;
  const units = writeUnits(itemSize(plain));
  return units + units;
}

class SegmentsOfAnyBatch extends FakeBatchFiles {
  constructor(private readonly batchSize: number) {
    super(aSegment(0));
  }

  override async loadSegment(...[, segmentKey]: Parameters<FakeBatchFiles['loadSegment']>): ReturnType<FakeBatchFiles['loadSegment']> {
    const batchNo = Number(/(\d+)\.jsonl$/.exec(segmentKey)?.[1]);
    return aSegment(this.batchSize, { batchNo, firstIndex: batchNo * this.batchSize });
  }
}
