import { Injectable } from '@nestjs/common';
import { failureAnswer, SettleTokenService, type Callback, type JobError } from '../../export-jobs/index.js';
import { AppError, AppLogger, Metrics } from '../../shared/index.js';
import { DeadLetterPort } from './dead-letter.port.js';

/** What cannot be used, and why: a line each. */
export interface UnusableMessage {
  body: string;
  reasons: readonly string[];
  jobId?: string;
}

/** What refuses a message: its own words, or settings of this service, which whoever runs it may have got wrong. */
export type RefusedBy = 'message' | 'settings';

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
    private readonly metrics: Metrics,
  ) {}

  /** @param receiveCount of the message: a token that is gone by its second receive was answered by the first, or its execution has ended */
  async reject(message: UnusableMessage & { taskToken?: string; by: RefusedBy; receiveCount: number }, signal: AbortSignal): Promise<void> {
    const { reasons, jobId, taskToken, by, receiveCount } = message;
    this.logger.warn('Job message cannot be used', { jobId, by, reasons });
    this.metrics.increment('messages_refused_total', { by });
    const failure = { code: 'InvalidExportRequest', message: reasons.join('; ') } as const;
    const callback =
      taskToken === undefined ? 'none' : await this.fail(failure, { taskToken, ...(jobId === undefined ? {} : { jobId }) }, signal);
    if (callback === 'gone' && receiveCount > 1) return;
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
