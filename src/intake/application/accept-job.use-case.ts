import { Injectable } from '@nestjs/common';
import {
  answerOf,
  failureAnswer,
  isTerminal,
  JobResultsPort,
  JobStateRepositoryPort,
  ReopenJobUseCase,
  requestKey,
  SettleTokenService,
  TaskHeartbeatService,
  type ExportJobEntity,
} from '../../export-jobs/index.js';
import { AppError, AppLogger, Clock, isRefusedByStore, StoreError, type BackoffPolicy } from '../../shared/index.js';
import { decideAccept } from '../domain/decide-accept.js';
import type { ExportRequest } from '../domain/export-request.js';
import { insistAfter } from './despite-refusals.js';
import { DestinationPort } from './destination.port.js';
import { setbackOfWrite } from './job-setback.js';

/**
 * `expand`: the job is ours to expand · `saveAgain`: it is once its request is saved, which its bucket
 * refused; `saveAgain` asks for some seconds and throws the rejection `DESTINATION_REFUSED` if that
 * stays so · `acknowledge`: delete the message, nothing else is owed to it · `answer`: its token is to
 * be answered first, which waits for Step Functions as long as it takes; it throws when it was
 * interrupted.
 */
export type AcceptOutcome = 'expand' | { saveAgain: () => Promise<void> } | 'acknowledge' | { answer: () => Promise<void> };

/** Code of the error that says that the bucket of the request does not exist; its message says how to mend that. */
export const DESTINATION_MISSING = 'DESTINATION_MISSING';

/** A job that is being answered is looked at again after this, and later each time. */
const LOOK_AGAIN: BackoffPolicy = { baseMs: 500, capMs: 30_000 };
/** Looks at it, about a minute's: then its message comes again. */
const MAX_LOOKS = 7;

/**
 * Makes a job of a message, or finds out what a message means for a job that is there. Never waits behind an expansion:
 * the task token's HeartbeatSeconds has been running since before the message was sent.
 */
@Injectable()
export class AcceptJobUseCase {
  constructor(
    private readonly jobs: JobStateRepositoryPort,
    private readonly results: JobResultsPort,
    private readonly destinations: DestinationPort,
    private readonly heartbeats: TaskHeartbeatService,
    private readonly settler: SettleTokenService,
    private readonly reopenJob: ReopenJobUseCase,
    private readonly settings: { heartbeatEnabled: boolean },
    private readonly clock: Clock,
    private readonly logger: AppLogger,
  ) {}

  /** @throws `reject` when the bucket of the request is not there; else when a table, S3 or Step Functions cannot be asked: the message comes again */
  async accept(request: ExportRequest, signal: AbortSignal): Promise<AcceptOutcome> {
    const { jobId } = request;
    const { kind, job } = await this.jobs.createIfAbsent({
      jobId,
      exportId: request.exportId,
      userId: request.userId,
      ...(request.taskToken === undefined ? {} : { taskToken: request.taskToken }),
      destination: request.destination,
      tolerance: request.tolerance,
      ...(request.failFast === undefined ? {} : { failFast: request.failFast }),
      requestKey: requestKey(request.destination, jobId),
      requestHash: request.requestHash,
      ...(request.metadata === undefined ? {} : { metadata: request.metadata }),
      createdAt: this.clock.nowIso(),
    });
    if (kind === 'created') this.logger.info('Job accepted', { jobId });
    let current: ExportJobEntity | undefined = job;
    for (let look = 1; current !== undefined; look++) {
      const decision = decideAccept(current, request);
      switch (decision.kind) {
        case 'expand':
          return this.beatAndSave(current, request, signal);
        case 'acknowledge':
          // Its token may have replaced another since the last look of the turns.
          this.heartbeats.remember(current);
          this.logger.info('Job message acknowledged: the job is in hand', { jobId, status: current.status });
          return 'acknowledge';
        case 'conflict':
          return this.refuse(request, 'The jobId belongs to another request: give each export an execution name of its own.', signal);
        case 'prove-token': {
          const outcome = await this.proveToken(current, request, look, signal);
          if (outcome !== 'look-again') return outcome;
          current = await this.jobs.find(jobId);
        }
      }
    }
    throw new AppError('JOB_ROW_MISSING', 'The row of a job vanished while its message was read', { disposition: 'retry' });
  }

  /** Waits for no bucket that refuses: few messages are accepted at a time, and the next one needs its first beat. */
  private async beatAndSave(job: ExportJobEntity, request: ExportRequest, signal: AbortSignal): Promise<AcceptOutcome> {
    if (this.settings.heartbeatEnabled) await this.heartbeats.beatNow(job);
    const { bucket } = request.destination;
    if (job.plan === undefined && (await this.destinations.look(bucket)) === 'missing') throw destinationMissing(bucket);
    const save = () => this.save(job, request, signal);
    try {
      await save();
      return 'expand';
    } catch (error) {
      if (!isRefusedByStore(error)) throw error;
      return { saveAgain: () => insistAfter(error, save, (ms) => this.pause(ms, signal)) };
    }
  }

  private async save(job: ExportJobEntity, request: ExportRequest, signal: AbortSignal): Promise<void> {
    try {
      await this.results.saveRequest(job, request.requestJson);
    } catch (error) {
      if (error instanceof StoreError && error.code === 'NoSuchBucket') throw destinationMissing(request.destination.bucket);
      throw setbackOfWrite(error, signal);
    }
  }

  /** Another token counts only once a beat with it was accepted: it may be a late duplicate of a dead one. */
  private async proveToken(
    job: ExportJobEntity,
    request: ExportRequest,
    look: number,
    signal: AbortSignal,
  ): Promise<AcceptOutcome | 'look-again'> {
    const { jobId, taskToken = '' } = request;
    if (!(await this.isAlive(taskToken, signal))) {
      this.logger.info('Job message acknowledged: its token is gone', { jobId, status: job.status });
      return 'acknowledge';
    }
    if (job.status === 'COMPLETED') return this.answerAsCompleted(job, taskToken, signal);
    if (isTerminal(job.status)) {
      await this.reopenJob.reopen(job, taskToken);
      return 'look-again';
    }
    if (job.status === 'FINALIZING') {
      await this.waitForTheEnd(look, signal);
      return 'look-again';
    }
    if (job.taskToken !== undefined && (await this.isAlive(job.taskToken, signal)))
      return this.refuse(request, 'Another execution with this jobId is running.', signal);
    const replaced = await this.jobs.replaceToken(job, taskToken);
    if (replaced.kind === 'written') this.logger.info('Job goes on with a new task token', { jobId, attempt: replaced.job.attempt });
    return 'look-again';
  }

  /** Its finisher holds the answer; when that one has died, an orchestrator takes over. */
  private async waitForTheEnd(look: number, signal: AbortSignal): Promise<void> {
    if (look > MAX_LOOKS)
      throw new AppError('JOB_STILL_FINALIZING', 'The job is still being answered; the message comes again', { disposition: 'yield' });
    await this.pause(Math.min(LOOK_AGAIN.capMs, LOOK_AGAIN.baseMs * 2 ** (look - 1)), signal);
  }

  private async pause(ms: number, signal: AbortSignal): Promise<void> {
    await this.clock.sleep(ms, signal);
    if (signal.aborted) throw new AppError('ACCEPT_INTERRUPTED', 'The message comes again elsewhere', { disposition: 'yield' });
  }

  private answerAsCompleted(job: ExportJobEntity, taskToken: string, signal: AbortSignal): AcceptOutcome {
    const { jobId, outcome, resultKey } = job;
    if (outcome === undefined) throw new Error(`Job ${jobId} is COMPLETED without an outcome`);
    return {
      answer: async () => {
        await this.settle(jobId, taskToken, answerOf(job, outcome, resultKey, []), signal);
        this.logger.info('New task token answered as the job completed', { jobId });
      },
    };
  }

  private refuse({ jobId, taskToken }: ExportRequest, message: string, signal: AbortSignal): AcceptOutcome {
    this.logger.warn('Job message refused: JobIdConflict', { jobId });
    if (taskToken === undefined) return 'acknowledge';
    const failure = failureAnswer({ code: 'JobIdConflict', message }, { jobId });
    return { answer: () => this.settle(jobId, taskToken, { kind: 'failure', ...failure }, signal) };
  }

  private async settle(...call: Parameters<SettleTokenService['settle']>): Promise<void> {
    if ((await this.settler.settle(...call)) === undefined)
      throw new AppError('ANSWER_INTERRUPTED', 'The token was not answered yet; the message comes again', { disposition: 'yield' });
  }

  /** @throws when Step Functions did not say: then nothing about the token is known. */
  private async isAlive(taskToken: string, signal: AbortSignal): Promise<boolean> {
    const proof = await this.heartbeats.prove(taskToken, signal);
    if (proof.kind !== 'unproved') return proof.kind === 'alive';
    throw new AppError('TOKEN_UNPROVED', `Step Functions did not say whether a token is alive: ${proof.reason}`, {
      disposition: signal.aborted ? 'yield' : 'retry',
    });
  }
}

function destinationMissing(bucket: string): AppError {
  const reason = `destination.bucket ${bucket} does not exist (NoSuchBucket): create it, or name another one; then start the execution again`;
  return new AppError(DESTINATION_MISSING, reason, { disposition: 'reject' });
}
