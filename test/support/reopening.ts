import { JobBatchesAdapter } from '../../src/batches/adapters/job-batches.adapter.js';
import type { BatchMessage } from '../../src/batches/application/batch-queue.port.js';
import type { Segment, TaskResult } from '../../src/batches/application/batch-files.port.js';
import { CompleteJobUseCase } from '../../src/export-jobs/application/complete-job.use-case.js';
import { SettleTokenService } from '../../src/export-jobs/application/settle-token.service.js';
import { aHolder } from './batch-holder.js';
import { aRequest, aSegment, TOKEN } from './builders.js';
import { FakeBatchFiles } from './fakes/fake-batch-ports.js';
import { settled } from './fake-clock.js';
import { anIntake } from './intake.js';

export const TOTAL_TASKS = 12;
export const SECOND = 'token-of-the-second-attempt';

const BATCH_SIZE = 5;
const running = new AbortController().signal;

/**
 * A job of twelve tasks in three batches from its message to its end, on fakes that share one gate. `take` is what a job message does,
 * `work` what the batch messages do that are queued.
 */
export function aReopeningWorld() {
  // Without beats nothing waits for the clock; a token is proved all the same.
  const intake = anIntake({ heartbeatEnabled: false });
  const { gate, clock, logger, metrics, jobs, batches, results, stepFunctions, queue, segments, manifest } = intake;
  manifest.totalTasks = TOTAL_TASKS;
  const files = new FakeBatchFiles((segmentKey): Segment => {
    const { firstIndex = 0, tasks = [] } = segments.segments.get(segmentKey) ?? {};
    return aSegment(0, { batchNo: firstIndex / BATCH_SIZE, firstIndex, tasks });
  }, gate);
  const holder = (coordinatorId = 'me') =>
    aHolder({ gate, clock, logger, jobs, batches, files, queue, stepFunctions, results }, coordinatorId, 32);
  const finisher = () =>
    new CompleteJobUseCase(
      jobs,
      new JobBatchesAdapter(batches, queue, clock),
      results,
      new SettleTokenService(stepFunctions, clock, logger, metrics),
      clock,
      logger,
      metrics,
    );

  const job = () => jobs.get('job-1');

  const take = async (taskToken: string = TOKEN): Promise<void> => {
    const request = aRequest({ taskToken });
    if ((await intake.acceptAndAnswer(request, running)) === 'expand')
      await intake.expandJob.expand(request, running, () => Promise.resolve(false));
  };

  /** The messages of the batches queue, each once. */
  const received = (): BatchMessage[] => queue.sent.splice(0);

  /** Keys of the tasks that were started, one by one, until nothing is queued; those named so fail. */
  const work = async (...failing: string[]): Promise<string[]> => {
    const started: string[] = [];
    for (let messages = received(); messages.length > 0; messages = received()) {
      const { receive, pool } = holder();
      const runs = messages.map((message) => receive(message));
      await settled();
      started.push(...pool.started.map(({ s3Key }) => s3Key.split('/').at(-1) ?? ''));
      for (const key of failing)
        if (pool.running.some(({ s3Key }) => s3Key.endsWith(`/${key}`))) await pool.fail({ code: 'HTTP_404', retryable: false }, `/${key}`);
      await pool.succeedAll();
      await Promise.all(runs);
    }
    // The end of a job is waited for by nobody.
    await settled();
    return started.sort();
  };

  /** The result lines that the manifest of a run names: index in the job and whether it succeeded, in order. */
  const lines = (run: number): [index: number, success: boolean][] => {
    const { batches: rows } = JSON.parse(results.objects.get(`run-${run}/manifest.json`) ?? '{"batches":[]}') as {
      batches: { batchNo: number; resultKeys: { succeeded: { key: string } } }[];
    };
    const of = ({ batchNo, resultKeys }: (typeof rows)[number]) =>
      (files.results.get(resultKeys.succeeded.key.replace('SUCCEEDED_', '')) ?? []).map((result: TaskResult): [number, boolean] => [
        batchNo * BATCH_SIZE + result.position,
        result.success,
      ]);
    return rows.flatMap(of);
  };

  return { ...intake, files, holder, finisher, job, take, received, work, lines };
}
