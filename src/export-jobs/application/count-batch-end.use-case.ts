import { Injectable } from '@nestjs/common';
import type { BatchCount } from '../domain/export-job.entity.js';
import { JobStateVO } from '../domain/job-state.vo.js';
import { CompleteJobUseCase } from './complete-job.use-case.js';
import { JobCounterService, type CountOutcome } from './job-counter.service.js';
import { TopUpJobUseCase } from './top-up-job.use-case.js';

/** Brings a batch's last count in, and goes on with its job: the end begins when it decides how the job ends, else its next batches are sent. */
@Injectable()
export class CountBatchEndUseCase {
  constructor(
    private readonly counter: JobCounterService,
    private readonly completeJob: CompleteJobUseCase,
    private readonly topUpJob: TopUpJobUseCase,
  ) {}

  /**
   * Does not wait for the job's end, which waits for Step Functions. Waits for the messages: a process that stops sends them before.
   * @throws when the count did not get through; calling again with the same numbers is safe
   */
  async count(jobId: string, batch: { batchNo: number; run: number }, last: BatchCount): Promise<CountOutcome> {
    const counted = await this.counter.countUp(jobId, batch, last, true);
    if (counted.kind === 'stop') return counted;
    if (JobStateVO.of(counted.job).isDecided) this.completeJob.help(jobId);
    else await this.topUpJob.topUp(counted.job);
    return counted;
  }
}
