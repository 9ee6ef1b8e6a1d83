import { Injectable } from '@nestjs/common';
import { AppLogger, Clock, Metrics, retryUntil, toLoggable, type BackoffPolicy, type MonotonicMs } from '../../shared/index.js';
import type { ExportJobEntity } from '../domain/export-job.entity.js';
import { JobStateVO } from '../domain/job-state.vo.js';
import { CancelJobUseCase } from './cancel-job.use-case.js';
import { FreshJobs } from './fresh-jobs.js';
import { JobStateRepositoryPort } from './job-state-repository.port.js';
import { PERMISSIONS_NEEDED, StepFunctionsPort, type TokenAnswer } from './step-functions.port.js';

/** Share of a turn's beats that may be answered InvalidToken before our own configuration is the likelier cause. */
const MOSTLY_INVALID = 0.5;
const ENOUGH_BEATS_TO_JUDGE = 4;
const OUR_CONFIGURATION = 'Step Functions does not know the tokens of jobs: check region and account of this service; nothing is cancelled';

/** Between the tries of a proof, half a minute's in all: a throttled account says nothing about a token. */
const PROOF_BACKOFF: BackoffPolicy = { baseMs: 500, capMs: 20_000 };
const PROOF_TRIES = 8;

/** What a beat proved of a token. `unproved`: Step Functions did not say, or there was no time to ask. */
export type TokenProof = { kind: 'alive' } | { kind: 'dead' } | { kind: 'unproved'; reason: string };

/** What the beats of one turn were answered, as far as it can only be judged together. */
interface TurnAnswers {
  calls: Promise<void>[];
  invalid: { job: ExportJobEntity; taskToken: string }[];
  /** What went wrong, by what is said of it: one line a turn, also when it went wrong a thousand times. */
  troubles: Map<string, Trouble>;
}

interface Trouble {
  level: 'warn' | 'error';
  beats: number;
  /** Of the first of them. */
  first: Record<string, unknown>;
}

/**
 * Sends the beats and acts on their answers. The calls run beside each other under a token bucket; none of them throws.
 * A beat's failure never fails a job: only an answer that the token is gone ends it.
 */
@Injectable()
export class TaskHeartbeatService {
  /** What turns beat beside the jobs of the last look. */
  readonly fresh = new FreshJobs();
  private readonly inFlight = new Set<Promise<void>>();
  /** By token, of the jobs that are still beaten. */
  private readonly acceptedAt = new Map<string, MonotonicMs>();
  private turn = noAnswers();
  private nextSendAt: MonotonicMs = 0;

  constructor(
    private readonly settings: { maxBeatsPerSecond: number; stateMachineHeartbeatS?: number },
    private readonly stepFunctions: StepFunctionsPort,
    private readonly jobs: JobStateRepositoryPort,
    private readonly cancelJob: CancelJobUseCase,
    private readonly clock: Clock,
    private readonly logger: AppLogger,
    private readonly metrics: Metrics,
  ) {}

  /** Waits for the bucket, then sends without waiting for the answer. `dueAt`: the slot, to measure lateness. */
  async beat(job: ExportJobEntity, dueAt: MonotonicMs | undefined, signal: AbortSignal): Promise<void> {
    if (job.taskToken === undefined) return;
    await this.placeInBucket(signal);
    if (signal.aborted) return;
    if (dueAt !== undefined) this.metrics.observe('heartbeat_lateness_seconds', Math.max(0, this.clock.monotonicMs() - dueAt) / 1_000);
    this.turn.calls.push(this.track(this.sendNow(job, job.taskToken, signal, this.turn)));
  }

  /** The turn's beats are sent: once they are answered, its InvalidTokens are judged together. Does not wait for that. */
  endTurn(): void {
    const { turn } = this;
    this.turn = noAnswers();
    void this.track(Promise.allSettled(turn.calls).then(() => this.judge(turn)));
  }

  /** The first beat of a job, at once: HeartbeatSeconds has been running since before the message was sent. */
  async beatNow(job: ExportJobEntity): Promise<void> {
    const alone = noAnswers();
    if (job.taskToken === undefined) return;
    this.remember(job);
    await this.placeInBucket();
    await this.sendNow(job, job.taskToken, AbortSignal.abort(), alone);
    await this.judge(alone);
  }

  /** From now on the turns of this process beat the job, if it has a token, also while the tables cannot be read. */
  remember(job: ExportJobEntity): void {
    if (job.taskToken !== undefined) this.fresh.add(job, this.clock.monotonicMs());
  }

  /** Whether somebody waits for this token, whatever job it belongs to: a beat of its own, in the same bucket; cancels nothing. */
  async prove(taskToken: string, signal: AbortSignal): Promise<TokenProof> {
    const proof = await retryUntil<TokenProof>(
      async (attempt) => {
        await this.placeInBucket(signal);
        if (signal.aborted) return { done: false };
        const answer = await this.call(taskToken);
        if (answer.kind === 'accepted') return { done: true, value: { kind: 'alive' } };
        if (answer.kind === 'gone' || answer.kind === 'invalid-token') return { done: true, value: { kind: 'dead' } };
        return attempt < PROOF_TRIES ? { done: false } : { done: true, value: { kind: 'unproved', reason: answer.reason } };
      },
      { clock: this.clock, backoff: PROOF_BACKOFF, signal },
    );
    return proof ?? { kind: 'unproved', reason: 'interrupted' };
  }

  /** Forgets what was accepted for tokens that are not beaten any more. */
  retain(jobs: readonly ExportJobEntity[]): void {
    const tokens = new Set([...jobs, ...this.fresh.list()].map((job) => job.taskToken));
    for (const token of this.acceptedAt.keys()) if (!tokens.has(token)) this.acceptedAt.delete(token);
  }

  async idle(): Promise<void> {
    while (this.inFlight.size > 0) await Promise.allSettled(this.inFlight);
  }

  /** Every call takes its place, first and second tries alike: the quota is the account's, shared with everyone. */
  private async placeInBucket(signal?: AbortSignal): Promise<void> {
    const now = this.clock.monotonicMs();
    const sendAt = Math.max(this.nextSendAt, now);
    this.nextSendAt = sendAt + 1_000 / this.settings.maxBeatsPerSecond;
    if (sendAt > now) await this.clock.sleepUntil(sendAt, signal);
  }

  private track(work: Promise<void>): Promise<void> {
    const tracked = work.finally(() => this.inFlight.delete(tracked));
    this.inFlight.add(tracked);
    return tracked;
  }

  /** Once more, sooner than the next turn, after an answer that says nothing about the token. Never rejects. */
  private async sendNow(job: ExportJobEntity, taskToken: string, retrySignal: AbortSignal, turn: TurnAnswers): Promise<void> {
    try {
      const answer = await this.send(job, taskToken, turn);
      if (answer.kind !== 'unavailable' || retrySignal.aborted) return;
      await this.clock.sleep(500 + Math.random() * 2_000, retrySignal);
      await this.placeInBucket(retrySignal);
      if (!retrySignal.aborted) await this.send(job, taskToken, turn);
    } catch (error) {
      note(turn, 'error', 'Task heartbeats could not be recorded', job, { error: toLoggable(error) });
    }
  }

  private async send(job: ExportJobEntity, taskToken: string, turn: TurnAnswers): Promise<TokenAnswer> {
    const sentAtIso = this.clock.nowIso();
    const answer = await this.call(taskToken, job.status === 'FINALIZING');
    switch (answer.kind) {
      case 'accepted':
        this.logger.debug('Task heartbeat accepted', { jobId: job.jobId, progress: JobStateVO.of(job).progress });
        await this.jobs.recordHeartbeat(job.jobId, taskToken, sentAtIso);
        break;
      case 'gone':
        await this.onGone(job, taskToken, answer.code);
        break;
      case 'invalid-token':
        turn.invalid.push({ job, taskToken });
        break;
      case 'not-allowed': {
        const { reason, detail } = answer;
        note(turn, 'error', `Task heartbeats are refused: ${PERMISSIONS_NEEDED}`, job, { reason, detail });
        break;
      }
      case 'unavailable':
      case 'key-unusable':
      case 'answer-unusable':
        note(turn, 'warn', 'Task heartbeats failed; the work goes on', job, { reason: answer.reason });
        break;
    }
    return answer;
  }

  /** @param isAnswered its job is being answered: that the token is gone then is the echo of our own answer */
  private async call(taskToken: string, isAnswered = false): Promise<TokenAnswer> {
    const sentAt = this.clock.monotonicMs();
    let outcome: TokenAnswer['kind'] | 'unknown' = 'unknown';
    try {
      const answer = await this.stepFunctions.sendHeartbeat(taskToken);
      outcome = answer.kind;
      if (answer.kind === 'accepted') this.acceptedAt.set(taskToken, sentAt);
      return answer;
    } finally {
      // All of it at once: who collects while a beat is under way must not see one that neither succeeded nor failed.
      this.metrics.observe('heartbeat_duration_seconds', (this.clock.monotonicMs() - sentAt) / 1_000);
      this.metrics.increment('heartbeat_sent_total');
      if (outcome === 'accepted') this.metrics.increment('heartbeat_success_total');
      else this.metrics.increment('heartbeat_failure_total', { reason: outcome === 'gone' && isAnswered ? 'answered' : outcome });
    }
  }

  private async onGone(job: ExportJobEntity, taskToken: string, code: string): Promise<void> {
    const lastAccepted = this.acceptedAt.get(taskToken);
    this.acceptedAt.delete(taskToken);
    this.fresh.drop(job.jobId, taskToken);
    // While a job is being answered a refused beat is the echo of our own answer.
    if (job.status === 'FINALIZING') return;
    // So it is when the job was answered between the look and its slot: nothing is cancelled then, and nothing counted.
    if (!(await this.cancelJob.cancelDead(job.jobId, job.run, taskToken))) return;
    this.metrics.increment('executions_gone_total');
    const limitS = this.settings.stateMachineHeartbeatS;
    if (limitS !== undefined && lastAccepted !== undefined && this.clock.monotonicMs() - lastAccepted > limitS * 1_000)
      this.metrics.increment('stepfunctions_timeout_total');
    this.logger.warn('The execution of a job is gone', { jobId: job.jobId, code });
  }

  /** A token that was accepted before and is garbled now has lost its execution, unless most tokens are: then we have lost our way. */
  private async judge(turn: TurnAnswers): Promise<void> {
    const { invalid, calls, troubles } = turn;
    const mostly = calls.length >= ENOUGH_BEATS_TO_JUDGE && invalid.length > calls.length * MOSTLY_INVALID;
    for (const { job, taskToken } of invalid) {
      const wasAccepted = this.acceptedAt.has(taskToken) || job.lastHeartbeatAt !== undefined;
      if (!wasAccepted || mostly) note(turn, 'error', OUR_CONFIGURATION, job);
      else
        await this.onGone(job, taskToken, 'InvalidToken').catch((error: unknown) =>
          note(turn, 'error', 'Jobs without an execution could not be cancelled; the next turn tries again', job, {
            error: toLoggable(error),
          }),
        );
    }
    for (const [message, { level, beats, first }] of troubles) this.logger[level](message, { beats, ...first });
  }
}

function noAnswers(): TurnAnswers {
  return { calls: [], invalid: [], troubles: new Map() };
}

function note({ troubles }: TurnAnswers, level: Trouble['level'], message: string, { jobId }: ExportJobEntity, fields: object = {}): void {
  const trouble = troubles.get(message) ?? { level, beats: 0, first: { jobId, ...fields } };
  trouble.beats++;
  troubles.set(message, trouble);
}
