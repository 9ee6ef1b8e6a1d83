import { Injectable } from '@nestjs/common';
import { AppLogger, Clock, retryUntil } from '../../shared/index.js';
import type { Callback } from '../domain/export-job.entity.js';
import { StepFunctionsPort, type TokenAnswer } from './step-functions.port.js';

export type Answer = { kind: 'success'; output: string } | { kind: 'failure'; error: string; cause: string };

const BACKOFF = { baseMs: 200, capMs: 10_000 };
/** After this many answers of an unusable key: fail with neither error nor cause, which need no encryption. */
const KEY_PATIENCE = 5;

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
  ) {}

  /** @returns `undefined` when aborted before any answer came: the row stays FINALIZING and another finisher repeats it. */
  async settle(jobId: string, taskToken: string, answer: Answer, signal: AbortSignal): Promise<Callback | undefined> {
    let replyLost = false;
    let keyRefusals = 0;
    return retryUntil<Callback>(
      async (attempt) => {
        const bare = keyRefusals >= KEY_PATIENCE;
        const said = await this.send(taskToken, bare ? undefined : answer);
        switch (said.kind) {
          case 'accepted':
            return { done: true, value: bare ? 'failure' : answer.kind };
          case 'gone':
          case 'invalid-token':
            return { done: true, value: replyLost ? 'unknown' : 'gone' };
          case 'unavailable':
            replyLost ||= said.maybeApplied;
            this.logger.warn('Task token could not be answered yet', { jobId, attempt, reason: said.reason });
            return { done: false };
          case 'key-unusable':
            keyRefusals++;
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
