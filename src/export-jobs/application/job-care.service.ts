import { Injectable } from '@nestjs/common';
import { AppLogger, Semaphore } from '../../shared/index.js';
import type { ExportJobEntity } from '../domain/export-job.entity.js';
import { CommandEndsService } from './command-ends.service.js';
import { CompleteJobUseCase } from './complete-job.use-case.js';
import type { CompleteOutcome } from './finish-job.js';
import { RepairJobUseCase } from './repair-job.use-case.js';
import { TopUpJobUseCase } from './top-up-job.use-case.js';

/** Jobs looked into at the same time; the others wait, and are beaten meanwhile. */
const AT_ONCE = 8;

/** Finishes, repairs and tops up jobs beside the heartbeats: nothing of it ever stands in front of a beat. */
@Injectable()
export class JobCareService {
  private readonly inCare = new Map<string, Promise<void>>();
  private readonly places = new Semaphore(AT_ONCE);

  constructor(
    private readonly completeJob: CompleteJobUseCase,
    private readonly repairJob: RepairJobUseCase,
    private readonly topUpJob: TopUpJobUseCase,
    private readonly commandEnds: CommandEndsService,
    private readonly logger: AppLogger,
  ) {}

  /** One that is FINALIZING has been seen silent. Answers false when the job is cared for already, and then calls nobody. */
  finish(job: ExportJobEntity, onOutcome: (outcome: CompleteOutcome) => void): boolean {
    return this.begin(job, async () => {
      const isHeld = job.status === 'FINALIZING';
      onOutcome(await (isHeld ? this.completeJob.takeOver(job) : this.completeJob.complete(job.jobId)));
    });
  }

  /**
   * Only the look waits for a place: what follows from it may wait for Step Functions, which must not hold up other repairs.
   * @param onAlive called when the repair found a sign of life
   * @param signal ends the wait for a place
   */
  repair(job: ExportJobEntity, quietMs: number, onAlive: () => void, signal: AbortSignal): boolean {
    return this.begin(job, async () => {
      const outcome = await this.places.run(signal, () => this.repairJob.repair(job, quietMs));
      switch (outcome) {
        case 'alive':
          return onAlive();
        case 'counted':
          onAlive();
          return void (await this.completeJob.complete(job.jobId));
        case 'stalled':
          return this.repairJob.giveUp(job, quietMs);
        case 'quiet':
        case undefined:
      }
    });
  }

  /** The net under those who top a job up when a batch ends: they may have failed, or died, or the fleet has grown since. */
  topUp(job: ExportJobEntity): void {
    void this.topUpJob.topUp(job);
  }

  /** Looks for jobs among those that have left the index which a command has ended. */
  noteLook(active: ReadonlySet<string>, isMine: (jobId: string) => boolean): void {
    this.commandEnds.noteLook(active, isMine);
  }

  /** Forgets what repairs remember of all but these jobs. */
  retain(jobs: readonly ExportJobEntity[]): void {
    this.repairJob.retain(new Set(jobs.map(({ jobId }) => jobId)));
  }

  async idle(): Promise<void> {
    await Promise.allSettled(this.inCare.values());
    await this.topUpJob.idle();
    await this.commandEnds.idle();
  }

  private begin({ jobId }: ExportJobEntity, work: () => Promise<unknown>): boolean {
    if (this.inCare.has(jobId)) return false;
    const care = work()
      .catch((error: unknown) =>
        this.logger.retrying('the end or the repair of a job', error, { jobId, next: 'the next turn tries again' }),
      )
      .then(() => void this.inCare.delete(jobId));
    this.inCare.set(jobId, care);
    return true;
  }
}
