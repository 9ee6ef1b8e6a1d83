import { StepFunctionsPort, type TokenAnswer } from '../../../src/export-jobs/application/step-functions.port.js';
import { Gate } from './gate.js';

export interface GivenAnswer {
  taskToken: string;
  kind: 'success' | 'failure';
  /** Of a success. */
  output?: string;
  /** Of a failure; absent in the last resort. */
  error?: string;
  cause?: string;
}

const ACCEPTED: TokenAnswer = { kind: 'accepted' };
const LOST_REPLY: TokenAnswer = { kind: 'unavailable', reason: 'TimeoutError', maybeApplied: true };

/** Tokens that are open until they are answered once or closed by the test. Any token is known. */
export class FakeStepFunctions extends StepFunctionsPort {
  readonly heartbeats: string[] = [];
  readonly answers: GivenAnswer[] = [];
  readonly #closed = new Set<string>();
  readonly #scripted: TokenAnswer[] = [];
  /** Then only an answer without error and cause passes. */
  keyUnusable = false;
  #losesReplies = 0;

  constructor(readonly gate: Gate = new Gate()) {
    super();
  }

  /** The execution stopped or timed out. */
  close(taskToken: string): void {
    this.#closed.add(taskToken);
  }

  /** The next calls are answered so, and nothing is applied. */
  answerNext(...answers: TokenAnswer[]): void {
    this.#scripted.push(...answers);
  }

  /** The next calls are applied and their replies are lost. */
  loseNextReplies(count = 1): void {
    this.#losesReplies = count;
  }

  sendHeartbeat(taskToken: string): Promise<TokenAnswer> {
    this.heartbeats.push(taskToken);
    return this.gate.pass('sendHeartbeat', () => this.#answer(taskToken, () => undefined));
  }

  sendSuccess(taskToken: string, output: string): Promise<TokenAnswer> {
    return this.#settle({ taskToken, kind: 'success', output });
  }

  sendFailure(taskToken: string, failure: { error: string; cause: string } | undefined): Promise<TokenAnswer> {
    return this.#settle({ taskToken, kind: 'failure', ...failure });
  }

  #settle(answer: GivenAnswer): Promise<TokenAnswer> {
    const needsKey = answer.output !== undefined || answer.error !== undefined;
    return this.gate.pass('answerToken', () =>
      this.keyUnusable && needsKey
        ? { kind: 'key-unusable' as const, reason: 'KmsAccessDeniedException' }
        : this.#answer(answer.taskToken, () => {
            this.answers.push(answer);
            this.#closed.add(answer.taskToken);
          }),
    );
  }

  #answer(taskToken: string, apply: () => void): TokenAnswer {
    const scripted = this.#scripted.shift();
    if (scripted !== undefined) return scripted;
    if (this.#closed.has(taskToken)) return { kind: 'gone', code: 'TaskTimedOut' };
    apply();
    if (this.#losesReplies === 0) return ACCEPTED;
    this.#losesReplies--;
    return LOST_REPLY;
  }
}
