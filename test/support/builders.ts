import type { BatchEntity, Lease } from '../../src/batches/domain/batch.entity.js';
import { Checkpoint, type CheckpointState } from '../../src/batches/domain/checkpoint.js';
import type { InHand } from '../../src/batches/domain/work-in-hand.js';
import type { ReclaimRecord } from '../../src/batches/domain/reclaim-record.js';
import type { NewBatch } from '../../src/batches/application/batch-repository.port.js';
import type { Segment } from '../../src/batches/application/batch-files.port.js';
import type { NewJob } from '../../src/export-jobs/application/job-state-repository.port.js';
import type { ExpansionPlan, ExportJobEntity, JobOutcome } from '../../src/export-jobs/domain/export-job.entity.js';
import type { CoordinatorDetails, CoordinatorEntity, CoordinatorFacts } from '../../src/fleet/domain/coordinator.entity.js';
import type { ExportRequest } from '../../src/intake/domain/export-request.js';

export const START_ISO = '2026-01-01T00:00:00.000Z';
export const TOKEN = 'token-of-the-first-attempt';

const DESTINATION = { bucket: 'exports', prefix: 'exports/job-1/' };

export function aNewJob(over: Partial<NewJob> = {}): NewJob {
  return {
    jobId: 'job-1',
    exportId: 'export-1',
    userId: 'user-1',
    taskToken: TOKEN,
    destination: DESTINATION,
    tolerance: {},
    requestKey: 'exports/job-1/_export/job-1/input/request.json',
    requestHash: 'hash-1',
    createdAt: START_ISO,
    ...over,
  };
}

/** A job in DOWNLOADING with ten tasks in two batches, all of them due, of which nothing is counted. */
export function aJob(over: Partial<ExportJobEntity> = {}): ExportJobEntity {
  return {
    ...aNewJob(),
    status: 'DOWNLOADING',
    run: 1,
    attempt: 1,
    plan: aPlan(),
    sentBatches: over.plan?.batchCount ?? 2,
    completedTasks: 0,
    failedTasks: 0,
    bytesProcessed: 0,
    batchProgress: new Map(),
    endedBatches: new Set(),
    updatedAt: START_ISO,
    lastProgressAt: START_ISO,
    ...over,
  };
}

export function withoutToken(job: ExportJobEntity): ExportJobEntity {
  const { taskToken: _token, ...rest } = job;
  return rest;
}

/** As `aJob`, before its expansion. */
export function aJobWithoutPlan(over: Partial<ExportJobEntity> = {}): ExportJobEntity {
  const { plan: _plan, ...job } = aJob({ status: 'PROCESSING', sentBatches: 0 });
  return { ...job, ...over };
}

export function aPlan(over: Partial<ExpansionPlan> = {}): ExpansionPlan {
  return { totalTasks: 10, batchCount: 2, batchSize: 5, segmentPrefix: 'exports/job-1/_export/job-1/input/expansion-1/', ...over };
}

export function anOutcome(over: Partial<JobOutcome> = {}): JobOutcome {
  return { status: 'COMPLETED', decidedAt: START_ISO, decidedBy: 'decider-1', ...over };
}

export function aNewBatch(over: Partial<NewBatch> = {}): NewBatch {
  return { jobId: 'job-1', batchNo: 0, run: 1, type: 'download', totalTasks: 5, segmentKey: 'segments/000000.jsonl', ...over };
}

/** A batch of five tasks that is queued and was never held. */
export function aBatch(over: Partial<BatchEntity> = {}): BatchEntity {
  const batch = { ...aNewBatch(), status: 'queued' as const, seq: 0, lockToken: 0, attempts: 0, enqueuedAt: START_ISO, ...over };
  return { ...Checkpoint.empty(batch.totalTasks), ...batch };
}

/** A batch that was taken from its silent holder and queued again. */
export function aReclaim(over: Partial<ReclaimRecord> = {}): ReclaimRecord {
  return {
    jobId: 'job-1',
    batchNo: 0,
    run: 1,
    attempt: 1,
    lockToken: 4,
    outcome: 'requeued',
    reclaimedAt: START_ISO,
    reclaimedBy: 'me',
    heldBy: 'the dead',
    lockAgeS: 900,
    heartbeatAgeS: 120,
    progressAgeS: 130,
    lastError: 'RECLAIMED_TTL: Exceeded TTL (90 s)',
    reclaimId: 'reclaim-1',
    completed: 2,
    failed: 1,
    ...over,
  };
}

export function leaseOf(batch: BatchEntity): Lease {
  return { jobId: batch.jobId, batchNo: batch.batchNo, run: batch.run, lockToken: batch.lockToken };
}

/** The checkpoint of a batch in which these positions succeeded, with 10 bytes each, and those failed. */
export function aState(succeeded: readonly number[], failed: readonly number[] = [], totalTasks = 5): CheckpointState {
  const checkpoint = new Checkpoint(totalTasks, Checkpoint.empty(totalTasks));
  for (const position of succeeded) checkpoint.succeed(position, 10);
  for (const position of failed) checkpoint.fail(position, 'HTTP_404');
  return checkpoint.whole();
}

export function aSegment(totalTasks = 5, over: Partial<Segment> = {}): Segment {
  return {
    jobId: 'job-1',
    batchNo: 0,
    firstIndex: 0,
    ...DESTINATION,
    tasks: Array.from({ length: totalTasks }, (_, position) => ({
      url: `https://origin.test/${position}?secret=1`,
      key: `file-${position}`,
    })),
    ...over,
  };
}

export const NOTHING_IN_HAND: InHand = { bytesInHand: 0, pausedMs: 0 };

export const RESULT_KEYS = { succeeded: { key: 'SUCCEEDED_000000_1.jsonl', size: 10 }, failed: { key: 'FAILED_000000_1.jsonl', size: 0 } };

export function aRequest(over: Partial<ExportRequest> = {}): ExportRequest {
  return {
    jobId: 'job-1',
    exportId: 'export-1',
    userId: 'user-1',
    taskToken: TOKEN,
    source: { kind: 'files', files: [] },
    destination: DESTINATION,
    tolerance: {},
    requestJson: '{"jobId":"job-1"}',
    requestHash: 'hash-1',
    ...over,
  };
}

export function coordinatorDetails(over: Partial<CoordinatorDetails> = {}): CoordinatorDetails {
  return { status: 'ACTIVE', phase: 'ready', activeTasks: 0, activeBatches: 0, loopLagMs: 0, ...over };
}

/** What a process registers with when it starts. */
export function aCoordinatorRow(): CoordinatorFacts & CoordinatorDetails {
  return { version: '1.2.3', host: 'host-1', startedAt: START_ISO, ...coordinatorDetails({ phase: 'starting' }) };
}

export function aCoordinator(over: Partial<CoordinatorEntity> = {}): CoordinatorEntity {
  return { ...aCoordinatorRow(), coordinatorId: 'another', epoch: 1, sequence: 1, heartbeatAt: START_ISO, phase: 'ready', ...over };
}
