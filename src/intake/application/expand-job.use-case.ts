import { Injectable } from '@nestjs/common';
import { EnqueueBatchesUseCase } from '../../batches/index.js';
import {
  CompleteJobUseCase,
  isCounting,
  JobStateRepositoryPort,
  JobStateVO,
  segmentKey,
  segmentPrefix,
  TopUpJobUseCase,
  type ExpansionPlan,
  type ExportJobEntity,
} from '../../export-jobs/index.js';
import { AppError, AppLogger, Clock, isRejected, newId } from '../../shared/index.js';
import { batchSizeFor, type ExportRequest } from '../domain/export-request.js';
import type { ManifestTask } from '../domain/manifest-task.js';
import { ExpansionProgress } from './expansion-progress.js';
import { ManifestPort, type SpooledManifest } from './manifest.port.js';
import { SegmentWriterPort } from './segment-writer.port.js';

/** Code of the error that says that the sender's manifest cannot be used; its cause says why. */
export const MANIFEST_REJECTED = 'MANIFEST_REJECTED';

/** Segments written at the same time. */
const SEGMENTS_AT_ONCE = 4;

/*
 * 1. The manifest is read to its end and spooled; segments go to S3 under a random prefix; then one write with one winner
 *    records totals, batch size and that prefix. A loser goes on with the winner's plan and leaves its own segments behind.
 * 2. The batch rows, if absent; a message for each that is queued and in the job's window.
 * 3. → DOWNLOADING; when the counts add up already, the job's end begins, else what ended meanwhile is made up for.
 * A crash anywhere: the message comes again and goes on where the row says.
 */
@Injectable()
export class ExpandJobUseCase {
  constructor(
    private readonly jobs: JobStateRepositoryPort,
    private readonly manifests: ManifestPort,
    private readonly segments: SegmentWriterPort,
    private readonly batches: EnqueueBatchesUseCase,
    private readonly completeJob: CompleteJobUseCase,
    private readonly topUpJob: TopUpJobUseCase,
    private readonly settings: { batchSize: number },
    private readonly clock: Clock,
    private readonly logger: AppLogger,
  ) {}

  /** @throws AppError: `reject` when the manifest is at fault, `retry` or `yield` when the message must come again */
  async expand(request: ExportRequest, signal: AbortSignal): Promise<void> {
    const job = await this.jobs.find(request.jobId);
    if (job?.status !== 'PROCESSING') return;
    const planned = job.plan === undefined ? await this.plan(job, request, signal) : job;
    if (planned === undefined) return;
    throwIfAborted(signal);
    const sentBatches = await this.batches.enqueue(planned);
    const started = await this.jobs.startDownloading(planned.jobId, planned.run, sentBatches);
    const now = started.kind === 'written' ? started.job : await this.jobs.find(planned.jobId);
    if (now === undefined || !isCounting(now.status)) return this.batches.withdraw(planned);
    if (JobStateVO.of(now).addsUp) this.completeJob.help(now.jobId);
    else await this.topUpJob.topUp(now);
  }

  /** The job with its plan, ours or the winner's; `undefined` when it is not ours to expand any more. */
  private async plan(job: ExportJobEntity, request: ExportRequest, signal: AbortSignal): Promise<ExportJobEntity | undefined> {
    const progress = new ExpansionProgress(job, this.jobs, this.clock);
    try {
      const planned = await this.planAnew(job, request, progress, AbortSignal.any([signal, progress.over]));
      if (planned !== undefined) return planned;
    } catch (error) {
      // A job that is over owes its message nothing, whatever this expansion then met.
      if (!progress.over.aborted) throw error;
      this.logger.info('Expansion ended: the job is over', { jobId: job.jobId, run: job.run });
    }
    const current = await this.jobs.find(job.jobId);
    return current?.status === 'PROCESSING' && current.run === job.run && current.plan !== undefined ? current : undefined;
  }

  /** `undefined` when another plan is recorded, or the job is not to be expanded any more. */
  private async planAnew(
    job: ExportJobEntity,
    request: ExportRequest,
    progress: ExpansionProgress,
    signal: AbortSignal,
  ): Promise<ExportJobEntity | undefined> {
    const manifest = await this.spool(request, progress, signal);
    try {
      const plan = await this.writeSegments(job, request, manifest, progress, signal);
      const recorded = await this.jobs.recordPlan(job.jobId, job.run, plan);
      if (recorded.kind === 'written') {
        const { totalTasks, batchCount: batches, batchSize } = plan;
        this.logger.info('Job expanded', { jobId: job.jobId, totalTasks, batches, batchSize });
        return recorded.job;
      }
      return undefined;
    } finally {
      await manifest.dispose();
    }
  }

  /** What is at fault here is the sender's manifest, and nothing later on is. */
  private async spool(request: ExportRequest, progress: ExpansionProgress, signal: AbortSignal): Promise<SpooledManifest> {
    try {
      return await this.manifests.spool(request, signal, () => progress.stamp());
    } catch (cause) {
      if (!isRejected(cause)) throw cause;
      throw new AppError(MANIFEST_REJECTED, cause.message, { disposition: 'reject', cause });
    }
  }

  private async writeSegments(
    job: ExportJobEntity,
    request: ExportRequest,
    manifest: SpooledManifest,
    progress: ExpansionProgress,
    signal: AbortSignal,
  ): Promise<ExpansionPlan> {
    const { totalTasks } = manifest;
    const batchSize = batchSizeFor(totalTasks, this.settings.batchSize);
    const prefix = segmentPrefix(job.destination, job.jobId, newId());
    let batchCount = 0;
    let writing: Promise<void>[] = [];
    for await (const tasks of inBatches(manifest.tasks(), batchSize)) {
      throwIfAborted(signal);
      const batchNo = batchCount++;
      const write = this.segments.write(request, { key: segmentKey(prefix, batchNo), batchNo, firstIndex: batchNo * batchSize }, tasks);
      // It is awaited a few segments later, and must not count as unhandled until then.
      write.catch(() => undefined);
      writing.push(write);
      if (writing.length < SEGMENTS_AT_ONCE) continue;
      await Promise.all(writing);
      writing = [];
      progress.stamp();
    }
    await Promise.all(writing);
    return { totalTasks, batchCount, batchSize, segmentPrefix: prefix };
  }
}

async function* inBatches(tasks: AsyncIterable<ManifestTask>, size: number): AsyncIterable<ManifestTask[]> {
  let batch: ManifestTask[] = [];
  for await (const task of tasks) {
    batch.push(task);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted)
    throw new AppError('EXPANSION_INTERRUPTED', 'The expansion was interrupted and goes on elsewhere', { disposition: 'yield' });
}
