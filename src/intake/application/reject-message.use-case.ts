import { Injectable } from '@nestjs/common';
import { failureAnswer, SettleTokenService, type JobError } from '../../export-jobs/index.js';
import { AppError, AppLogger } from '../../shared/index.js';
import { DeadLetterPort } from './dead-letter.port.js';

/** A message that can never become a job: its token fails at once, a copy waits for a person. */
@Injectable()
export class RejectMessageUseCase {
  constructor(
    private readonly settler: SettleTokenService,
    private readonly deadLetters: DeadLetterPort,
    private readonly logger: AppLogger,
  ) {}

  async reject(
    message: { body: string; reasons: readonly string[]; jobId?: string; taskToken?: string },
    signal: AbortSignal,
  ): Promise<void> {
    const { body, reasons, jobId, taskToken } = message;
    this.logger.error('Job message cannot be used', { jobId, reasons });
    const failure = { code: 'InvalidExportRequest', message: reasons.join('; ') } as const;
    if (taskToken !== undefined) await this.fail(failure, { taskToken, ...(jobId === undefined ? {} : { jobId }) }, signal);
    const { cut } = await this.deadLetters.copy(body, reasons.join('; '));
    this.logger.info('A copy of the job message is on the dead-letter queue', { jobId, cut });
  }

  /** Answers the token of a message that has no job. */
  async fail(failure: JobError, message: { jobId?: string; taskToken: string }, signal: AbortSignal): Promise<void> {
    const { jobId, taskToken } = message;
    const answer = failureAnswer(failure, { jobId: jobId ?? null });
    const callback = await this.settler.settle(jobId ?? '(unreadable)', taskToken, { kind: 'failure', ...answer }, signal);
    if (callback === undefined)
      throw new AppError('ANSWER_INTERRUPTED', 'The token was not answered yet; the message comes again', { disposition: 'yield' });
  }
}
