import { EnqueueBatchesUseCase } from '../../batches/index.js';
import {
  CompleteJobUseCase,
  isCounting,
  JobStateRepositoryPort,
  JobStateVO,
  TopUpJobUseCase,
  type ExportJobEntity,
} from '../../export-jobs/index.js';
import { AppLogger, Clock } from '../../shared/index.js';
import type { ExportRequest } from '../domain/export-request.js';
import { ExpansionProgress } from './expansion-progress.js';
import { interrupted } from './interrupted.js';
import type { Expansion, IntakeCapacity, Leave, PlanExpansionUseCase } from './plan-expansion.use-case.js';

/** What an expansion stands on, as one thing to hand over. */
export interface ExpansionServices {
  jobs: JobStateRepositoryPort;
  batches: EnqueueBatchesUseCase;
  completeJob: CompleteJobUseCase;
  topUpJob: TopUpJobUseCase;
  clock: Clock;
  logger: AppLogger;
}

/*
 * 1. The plan: see PlanExpansionUseCase.
 * 2. The batch rows, if absent; a message for each that is queued and in the job's window.
 * 3. → DOWNLOADING; when the counts decide already, the job's end begins, else what ended meanwhile is made up for.
 * A crash anywhere: the message comes again and goes on where the row says.
 */
export class ExpandJobUseCase {
  constructor(
    private readonly planExpansion: PlanExpansionUseCase,
    private readonly capacity: Pick<IntakeCapacity, 'turns'>,
    private readonly services: ExpansionServices,
  ) {}

  /**
   * @param leave asked while the list waits to be opened
   * @throws AppError: `reject` when the manifest is at fault, `retry` or `yield` when the message must come again
   */
  async expand(request: ExportRequest, signal: AbortSignal, leave: Leave): Promise<void> {
    const { jobs, batches, completeJob, topUpJob } = this.services;
    const job = await jobs.find(request.jobId);
    if (job?.status !== 'PROCESSING') return;
    const planned = await this.planAndEnqueue(job, request, signal, leave);
    if (planned === undefined) return;
    const { sentBatches, job: expanded } = planned;
    const started = await jobs.startDownloading(expanded.jobId, expanded.run, sentBatches);
    const now = started.kind === 'written' ? started.job : await jobs.find(expanded.jobId);
    if (now === undefined || !isCounting(now.status)) return batches.withdraw(expanded);
    if (JobStateVO.of(now).isDecided) completeJob.help(now.jobId);
    else await topUpJob.topUp(now);
  }

  /** The job with its plan, a row for each of its batches, and how many of them are due; `undefined` when it is not ours to expand any more. */
  private async planAndEnqueue(
    job: ExportJobEntity,
    request: ExportRequest,
    signal: AbortSignal,
    leave: Leave,
  ): Promise<{ job: ExportJobEntity; sentBatches: number } | undefined> {
    const { jobs, batches, clock } = this.services;
    const progress = new ExpansionProgress(job, jobs, clock);
    const expansion = { job, request, progress, signal: AbortSignal.any([signal, progress.over]) };
    try {
      const planned = job.plan === undefined ? await this.plan(expansion, leave) : job;
      if (planned === undefined) return undefined;
      if (signal.aborted) throw interrupted();
      const sentBatches = await this.capacity.turns.run(signal, progress, () => batches.enqueue(planned));
      return { job: planned, sentBatches };
    } finally {
      progress.end();
    }
  }

  /** The job with its plan, ours or the winner's. */
  private async plan(expansion: Expansion, leave: Leave): Promise<ExportJobEntity | undefined> {
    const { jobs, logger } = this.services;
    const { job, progress } = expansion;
    try {
      const planned = await this.planExpansion.plan(expansion, leave);
      if (planned !== undefined) return planned;
    } catch (error) {
      // A job that is over owes its message nothing, whatever this expansion then met.
      if (!progress.over.aborted) throw error;
      logger.info('Expansion ended: the job is over', { jobId: job.jobId, run: job.run });
    }
    const current = await jobs.find(job.jobId);
    return current?.status === 'PROCESSING' && current.run === job.run && current.plan !== undefined ? current : undefined;
  }
}
