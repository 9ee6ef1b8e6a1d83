import { Injectable } from '@nestjs/common';
import { AppError, AppLogger, Clock, Metrics, retryUntil, type MonotonicMs } from '../../shared/index.js';
import type { Callback } from '../domain/export-job.entity.js';
import { PERMISSIONS_NEEDED, StepFunctionsPort, type TokenAnswer } from './step-functions.port.js';

export type Answer = { kind: 'success'; output: string } | { kind: 'failure'; error: string; cause: string };

const BACKOFF = { baseMs: 200, capMs: 10_000 };
/** A key that is unusable for so long will not be mended in time: fail with neither error nor cause, which need no encryption. */
const KEY_PATIENCE_MS = 4 * 3_600_000;

/**
 * Answers a token once. A token that is gone was answered by someone or has nobody listening: that is recorded and never
 * turned into the other answer. When our own reply may have been lost before that, who answered is unknown.
 */
@Injectable()
export class SettleTokenService {
  constructor(
    private readonly stepFunctions: StepFunctionsPort,
    private readonly clock: Clock,
    private readonly logger: AppLogger,
    private readonly metrics: Metrics,
  ) {}

  /**
   * @param holds asked right before each call, without a pause in between: whether this answer is still ours to give. Who says no aborts the signal.
   * @returns `undefined` when aborted before any answer came: the row stays FINALIZING and another finisher repeats it
   */
  async settle(
    jobId: string,
    taskToken: string,
    answer: Answer,
    signal: AbortSignal,
    holds: () => boolean = () => true,
  ): Promise<Callback | undefined> {
    let replyLost = false;
    let keyUnusableSince: MonotonicMs | undefined;
    let shown: Answer | undefined = answer;
    return retryUntil<Callback>(
      async (attempt) => {
        if (keyUnusableSince !== undefined && this.clock.monotonicMs() - keyUnusableSince > KEY_PATIENCE_MS) shown = undefined;
        if (!holds()) return { done: false };
        const said = await this.send(taskToken, shown);
        if (said.kind !== 'accepted') this.metrics.increment('settle_failure_total', { reason: said.kind });
        switch (said.kind) {
          case 'accepted':
            return { done: true, value: shown?.kind ?? 'failure' };
          case 'gone':
          case 'invalid-token':
            return { done: true, value: replyLost ? 'unknown' : 'gone' };
          case 'unavailable':
            replyLost ||= said.maybeApplied;
            this.logger.retrying('the answer to a task token', notAnswered(said.reason), { jobId, attempt });
            return { done: false };
          case 'not-allowed': {
            const { reason, detail } = said;
            this.logger.error(`Task token cannot be answered: ${PERMISSIONS_NEEDED}`, { jobId, attempt, reason, detail });
            return { done: false };
          }
          case 'answer-unusable':
            this.logger.error('Step Functions refuses the form of an answer; the barest one is sent', {
              jobId,
              attempt,
              reason: said.reason,
            });
            shown = barest(answer, jobId);
            return { done: false };
          case 'key-unusable':
            keyUnusableSince ??= this.clock.monotonicMs();
            this.logger.error('Task token cannot be answered: the key of the state machine is unusable', {
              jobId,
              attempt,
              reason: said.reason,
            });
            return { done: false };
        }
      },
      { clock: this.clock, backoff: BACKOFF, signal },
    );
  }

  private send(taskToken: string, answer: Answer | undefined): Promise<TokenAnswer> {
    if (answer?.kind === 'success') return this.stepFunctions.sendSuccess(taskToken, answer.output);
    return this.stepFunctions.sendFailure(taskToken, answer);
  }
}

function notAnswered(reason: string): AppError {
  return new AppError(reason, 'Step Functions could not be asked, or did not take the answer now', { disposition: 'retry' });
}

/** The same answer with nothing in it that could be refused. */
function barest(answer: Answer, jobId: string): Answer {
  if (answer.kind === 'success') return { kind: 'success', output: JSON.stringify({ jobId }) };
  return { kind: 'failure', error: answer.error, cause: JSON.stringify({ jobId }) };
}
