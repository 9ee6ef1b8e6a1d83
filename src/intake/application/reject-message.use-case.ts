import { Injectable } from '@nestjs/common';
import { failureAnswer, SettleTokenService, type Callback, type JobError } from '../../export-jobs/index.js';
import { AppError, AppLogger } from '../../shared/index.js';
import { DeadLetterPort } from './dead-letter.port.js';

/** What cannot be used, and why: a line each. */
export interface UnusableMessage {
  body: string;
  reasons: readonly string[];
  jobId?: string;
}

/**
 * A message that can never become a job: its token fails at once with the reasons. That is between its sender and us, and no alarm. Only
 * where nobody hears the answer, because there is no token or it is gone, a copy waits on the dead-letter queue for a person.
 */
@Injectable()
export class RejectMessageUseCase {
  constructor(
    private readonly settler: SettleTokenService,
    private readonly deadLetters: DeadLetterPort,
    private readonly logger: AppLogger,
  ) {}

  async reject(message: UnusableMessage & { taskToken?: string }, signal: AbortSignal): Promise<void> {
    const { reasons, jobId, taskToken } = message;
    this.logger.warn('Job message cannot be used', { jobId, reasons });
    const failure = { code: 'InvalidExportRequest', message: reasons.join('; ') } as const;
    const callback =
      taskToken === undefined ? 'none' : await this.fail(failure, { taskToken, ...(jobId === undefined ? {} : { jobId }) }, signal);
    await this.copyUnlessAnswered(message, callback);
  }

  /** @param callback how the one answer to its token went; `undefined`: another finisher is still giving it */
  async copyUnlessAnswered({ body, reasons, jobId }: UnusableMessage, callback: Callback | undefined): Promise<void> {
    if (callback !== 'none' && callback !== 'gone') return;
    const { cut } = await this.deadLetters.copy(body, reasons.join('; '));
    this.logger.error('Nobody could be answered: a copy of the job message is on the dead-letter queue', { jobId, callback, reasons, cut });
  }

  /** Answers the token of a message that has no job. */
  async fail(failure: JobError, message: { jobId?: string; taskToken: string }, signal: AbortSignal): Promise<Callback> {
    const { jobId, taskToken } = message;
    const answer = failureAnswer(failure, { jobId: jobId ?? null });
    const callback = await this.settler.settle(jobId ?? '(unreadable)', taskToken, { kind: 'failure', ...answer }, signal);
    if (callback === undefined)
      throw new AppError('ANSWER_INTERRUPTED', 'The token was not answered yet; the message comes again', { disposition: 'yield' });
    return callback;
  }
}
