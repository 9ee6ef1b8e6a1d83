import { JobBatchesAdapter } from '../../src/batches/adapters/job-batches.adapter.js';
import { GiveUpBatchUseCase } from '../../src/batches/application/give-up-batch.use-case.js';
import { LeaseService } from '../../src/batches/application/lease.service.js';
import { ReclaimBatchUseCase } from '../../src/batches/application/reclaim-batch.use-case.js';
import { ReclaimRecorderService } from '../../src/batches/application/reclaim-recorder.service.js';
import {
  ReclaimStaleBatchesUseCase,
  type ReclaimSettings,
  type ReclaimTurn,
} from '../../src/batches/application/reclaim-stale-batches.use-case.js';
import type { BatchEntity } from '../../src/batches/domain/batch.entity.js';
import { CompleteJobUseCase } from '../../src/export-jobs/application/complete-job.use-case.js';
import { SettleTokenService } from '../../src/export-jobs/application/settle-token.service.js';
import { aBatch, aState } from './builders.js';
import { aBatchWorld, BATCH_BEAT_MS, BATCH_TTL_MS } from './batch-holder.js';
import { FakeJobResults } from './fakes/fake-job-ports.js';
import { InMemoryReclaimHistory } from './fakes/in-memory-reclaim-history.js';
import { RecordingMetrics } from './fakes/recording-metrics.js';
import type { FakeClock } from './fake-clock.js';
import { aJobWindow } from './job-window.js';

export const RECLAIM_INTERVAL_MS = 15_000;
export const MAX_ATTEMPTS = 10;

const HOURS_AGO = '2025-12-31T21:00:00.000Z';

/** A batch that someone claimed hours ago, and has not been heard of since. */
export function aSilent(over: Partial<BatchEntity> = {}): BatchEntity {
  const holder = { lockToken: 4, lockedBy: 'the dead', claimId: 'claim-4', lockedAt: HOURS_AGO, heartbeatAt: HOURS_AGO };
  return aBatch({ status: 'running', ...holder, ...over });
}

/** One whose last task takes down whoever runs it: at the limit of attempts, without progress. */
export function aHopeless(over: Partial<BatchEntity> = {}): BatchEntity {
  return aSilent({ attempts: MAX_ATTEMPTS, ...aState([0, 1, 2, 3]), reclaimMark: 4, ...over });
}

/** As `aBatchWorld`; `reclaimer()` is the reclaim of one coordinator on it, with a clock of its own if it is given one. */
export function aReclaimWorld() {
  const world = aBatchWorld();
  const { gate, jobs, batches, files, queue, logger, stepFunctions } = world;
  const results = new FakeJobResults(gate);
  const history = new InMemoryReclaimHistory(gate);

  const reclaimer = (clock: FakeClock = world.clock, over: Partial<ReclaimSettings> & { maxAttempts?: number } = {}) => {
    const metrics = new RecordingMetrics();
    const leases = new LeaseService(batches, clock);
    const settler = new SettleTokenService(stepFunctions, clock, logger, metrics);
    const jobBatches = new JobBatchesAdapter(batches, queue, clock);
    const completeJob = new CompleteJobUseCase(jobs, jobBatches, results, settler, clock, logger, metrics);
    const { endsCounted } = aJobWindow({ jobs, jobBatches, logger });
    const giveUpBatch = new GiveUpBatchUseCase(jobs, batches, files, endsCounted(completeJob), completeJob, logger);
    const settings = {
      coordinatorId: 'me',
      heartbeatIntervalMs: BATCH_BEAT_MS,
      ttlMs: { download: BATCH_TTL_MS },
      reclaimIntervalMs: RECLAIM_INTERVAL_MS,
      maxAttempts: MAX_ATTEMPTS,
      ...over,
    };
    const recorder = new ReclaimRecorderService(history, clock, logger);
    const reclaimBatch = new ReclaimBatchUseCase(settings, batches, queue, giveUpBatch, recorder, clock);
    const ownHeartbeat = { lastWriteFailed: false };
    const reclaim = new ReclaimStaleBatchesUseCase(settings, batches, leases, ownHeartbeat, reclaimBatch, recorder, clock, logger, metrics);

    /** With what it begins beside it. */
    const nextTurn = async (): Promise<ReclaimTurn> => {
      await world.clock.advance(RECLAIM_INTERVAL_MS);
      const turn = await reclaim.runOnce();
      await reclaim.idle();
      await completeJob.idle();
      return turn;
    };
    const turns = async (count: number): Promise<ReclaimTurn[]> => {
      const all: ReclaimTurn[] = [];
      for (let turn = 0; turn < count; turn++) all.push(await nextTurn());
      return all;
    };
    /** Puts them there and has them seen unchanged for 30 s: the next turn takes those that are silent for hours. */
    const watch = async (...rows: BatchEntity[]): Promise<void> => {
      batches.put(...rows);
      await turns(3);
    };
    return { completeJob, reclaim, giveUpBatch, leases, ownHeartbeat, metrics, nextTurn, turns, watch };
  };
  return { ...world, results, history, reclaimer };
}
