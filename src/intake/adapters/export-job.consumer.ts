import {
  DESTINATION_REFUSED,
  destinationRefusedEnd,
  type CompleteJobUseCase,
  type ExportJobEntity,
  type JobError,
  type JobStateRepositoryPort,
} from '../../export-jobs/index.js';
import type { DrainDeadlines, LifecyclePart } from '../../platform/index.js';
import {
  askedOnce,
  handBack,
  idsOf,
  PollLoop,
  resolveMaxReceiveCount,
  resolveVisibilityTimeoutS,
  VisibilityHeartbeats,
  type ReceivedMessage,
  type SqsQueue,
  type VisibilityPort,
} from '../../platform/sqs/index.js';
import { AppError, isYielded, toLoggable, type AppLogger, type Clock, type Metrics } from '../../shared/index.js';
import { DESTINATION_MISSING, type AcceptJobUseCase } from '../application/accept-job.use-case.js';
import type { ExpandJobUseCase } from '../application/expand-job.use-case.js';
import { JobSetback } from '../application/job-setback.js';
import { MANIFEST_REJECTED } from '../application/plan-expansion.use-case.js';
import type { RefusedBy, RejectMessageUseCase } from '../application/reject-message.use-case.js';
import type { ExportRequest } from '../domain/export-request.js';
import { parseExportJobMessage } from './export-job-message.schema.js';
import type { JobHandOn } from './job-hand-on.js';
import { answerOnLastReceive, isOf } from './last-receive.js';
import { manifestReasons } from './manifest-reasons.js';
import { resolveExportRequest, type RequestDefaults } from './resolve-export-request.js';

/** Messages that are being accepted at the same time. */
const MAX_ACCEPTING = 64;
/** Messages that wait for their expansion or their answer, or are in it, each held by a visibility heartbeat: by number, and by bytes. */
const MAX_ACCEPTED = 1_000;
const MAX_ACCEPTED_BYTES = 64 * 1024 * 1024;
/** After this receive a message is given up where the jobs queue has no redrive policy, or does not tell. */
const ASSUMED_RECEIVES = 5;
/** The job can never run as it was sent. */
const REJECTED = [MANIFEST_REJECTED, DESTINATION_MISSING, DESTINATION_REFUSED];
/** A message that failed for our own reasons comes back after this, times the number of its receives. */
const COME_BACK_S = 10;
/** Doubled with each receive: a list or a bucket that is away for minutes must not fail the jobs that were sent meanwhile. */
const SETBACK_COME_BACK_S = 30;

export interface ConsumerSettings {
  defaults: RequestDefaults;
  visibility: { intervalMs: number; timeoutS?: number };
}

export interface ConsumerUseCases {
  acceptJob: AcceptJobUseCase;
  expandJob: ExpandJobUseCase;
  rejectMessage: RejectMessageUseCase;
  completeJob: CompleteJobUseCase;
  jobs: JobStateRepositoryPort;
  handOn: JobHandOn;
}

export type JobsQueue = Pick<SqsQueue, 'url' | 'receive' | 'delete' | 'send' | 'attributes' | 'changeVisibilityBatch'>;

export interface ConsumerTools {
  clock: Clock;
  logger: AppLogger;
  metrics: Metrics;
}

/*
 * receive ─▶ held by a visibility heartbeat ─▶ parse ─▶ accept (first task heartbeat) ─▶ expand ─▶ delete
 *               │                                │                                           └─ list not opened for 5 s ─▶ copy to the queue ─▶ delete
 *               │                                ├─ unusable ─▶ token failed; when nobody hears it a copy to the dead-letter queue ─▶ delete
 *               │                                ├─ manifest at fault ─▶ job failed; the same ─▶ delete
 *               │                                └─ destination refuses for good ─▶ job failed ─▶ delete
 *               ├─ lost (someone else has it) ─▶ not deleted: whoever has it goes on where the row says
 *               ├─ its list or its bucket fails ─▶ comes back later; on the last receive the job fails with ExportIntakeFailed
 *               ├─ our own failure ─▶ the same, and the next receive waits
 *               └─ shutdown ─▶ held until the last poll has ended, then made visible at once
 */
export class ExportJobConsumer implements LifecyclePart {
  private readonly stopping = new AbortController();
  private loop: PollLoop | undefined;
  private maxReceiveCount = ASSUMED_RECEIVES;
  private accepted = 0;
  private acceptedBytes = 0;

  constructor(
    private readonly settings: ConsumerSettings,
    private readonly queue: JobsQueue,
    private readonly renewals: VisibilityPort,
    private readonly useCases: ConsumerUseCases,
    private readonly tools: ConsumerTools,
  ) {}

  async start(): Promise<void> {
    const { clock, logger } = this.tools;
    const queue = askedOnce(this.queue);
    const [timeoutS, maxReceiveCount] = await Promise.all([
      resolveVisibilityTimeoutS(queue, this.settings.visibility.timeoutS, logger),
      resolveMaxReceiveCount(queue, 'Jobs queue', ASSUMED_RECEIVES, logger),
    ]);
    this.maxReceiveCount = maxReceiveCount;
    const visibility = new VisibilityHeartbeats(this.renewals, { intervalMs: this.settings.visibility.intervalMs, timeoutS }, this.tools);
    this.loop = new PollLoop({
      name: 'Jobs queue',
      queue: this.queue,
      maxReceiveCount,
      // Accepted messages do not count against the limit, because a new message must get its first task heartbeat while expansions go on.
      capacity: () => (this.accepted < MAX_ACCEPTED && this.acceptedBytes < MAX_ACCEPTED_BYTES ? MAX_ACCEPTING + this.accepted : 0),
      visibilityTimeoutS: timeoutS,
      handle: (message) => this.handle(message, visibility),
      clock,
      logger,
    });
    this.loop.start();
  }

  /** For the health answer: what keeps the loop from turning. */
  get problem(): string | undefined {
    return this.loop === undefined ? 'not started' : this.loop.problem;
  }

  quiesce(): void {
    this.stopping.abort();
    this.loop?.quiesce();
  }

  async drain({ finishBy }: DrainDeadlines): Promise<void> {
    await this.loop?.stop(finishBy);
    await this.loop?.idle();
  }

  private async handle(message: ReceivedMessage, visibility: VisibilityHeartbeats): Promise<void> {
    const { receiptHandle, receivedAt, messageId } = message;
    const who = () => ({ ...idsOf(message), messageId });
    const held = visibility.forMessage({ queueUrl: this.queue.url, receiptHandle, receivedAt, messageId });
    held.start();
    const signal = AbortSignal.any([held.signal, this.stopping.signal]);
    try {
      await this.process(message, signal);
      await held.stop();
      if (held.error !== undefined) return this.tools.logger.warn('Job message was lost while it was worked on; it is not deleted', who());
      await this.queue.delete(receiptHandle);
    } catch (error) {
      const shuttingDown = this.stopping.signal.aborted;
      // What is handed back before our last poll has ended would go to that poll, and cost the message a receive.
      if (shuttingDown) await this.loop?.ended;
      await held.stop();
      if (held.error !== undefined) return this.tools.logger.warn('Job message was lost while it was worked on: another has it', who());
      await this.giveBack(message, error, shuttingDown);
      // The fault of one job's list or bucket is not this process's: the messages of other jobs must not be received any slower for it.
      if (this.stopping.signal.aborted || isYielded(error) || error instanceof JobSetback) return;
      // The loop logs it and slows down: cut off from our tables, we must not spend the receives of the whole fleet's messages.
      throw error;
    }
  }

  private async process(message: ReceivedMessage, signal: AbortSignal): Promise<void> {
    const parsed = parseExportJobMessage(message.body);
    if (parsed.kind === 'unusable') return this.reject(message, { ...parsed, by: 'message' }, signal);
    const resolved = await resolveExportRequest(parsed.message, parsed.files, this.settings.defaults);
    if (resolved.kind === 'unusable') {
      const { jobId, taskToken } = parsed.message;
      return this.reject(
        message,
        { reasons: resolved.reasons, by: 'settings', jobId, ...(taskToken === undefined ? {} : { taskToken }) },
        signal,
      );
    }
    await this.take(message, resolved.request, signal);
  }

  private async reject(
    message: ReceivedMessage,
    unusable: { reasons: readonly string[]; by: RefusedBy; jobId?: string; taskToken?: string },
    signal: AbortSignal,
  ): Promise<void> {
    await this.whileAccepted(message, () =>
      this.useCases.rejectMessage.reject({ body: message.body, receiveCount: message.receiveCount, ...unusable }, signal),
    );
  }

  private async take(message: ReceivedMessage, request: ExportRequest, signal: AbortSignal): Promise<void> {
    const { jobId } = request;
    this.tools.logger.debug('Job message received', { jobId, messageId: message.messageId, traceId: message.traceHeader });
    try {
      await this.acceptAndExpand(message, request, signal);
    } catch (error) {
      if (error instanceof JobSetback)
        this.tools.logger.warn('The list or the bucket of a job cannot be used now', {
          jobId,
          receiveCount: message.receiveCount,
          error: toLoggable(error),
          next: this.isLastReceive(message)
            ? 'this was the last receive of its message: the job fails with ExportIntakeFailed'
            : `its message comes again in ${comeBackS(error, message.receiveCount)} s`,
        });
      if (this.isLastReceive(message))
        await this.whileAccepted(message, () =>
          answerOnLastReceive(request, { receiveCount: message.receiveCount, error }, { ...this.useCases, ...this.tools }, signal),
        );
      throw error;
    }
  }

  private isLastReceive({ receiveCount }: ReceivedMessage): boolean {
    return receiveCount >= this.maxReceiveCount;
  }

  private async acceptAndExpand(message: ReceivedMessage, request: ExportRequest, signal: AbortSignal): Promise<void> {
    const { acceptJob, expandJob, handOn } = this.useCases;
    try {
      const accepted = await acceptJob.accept(request, signal);
      if (accepted === 'acknowledge') return;
      if (typeof accepted === 'object' && 'answer' in accepted) return await this.whileAccepted(message, accepted.answer);
      await this.whileAccepted(message, async () => {
        if (accepted !== 'expand') await accepted.saveAgain();
        await expandJob.expand(request, signal, (leaving) => handOn.handOn(message, request.jobId, leaving));
      });
      signal.throwIfAborted();
    } catch (error) {
      if (!(error instanceof AppError && REJECTED.includes(error.code))) throw error;
      await this.whileAccepted(message, () =>
        error.code === DESTINATION_REFUSED ? this.endRefused(request, error) : this.rejectManifest(message, request, error),
      );
    }
  }

  /** The message makes room for others to be accepted: an expansion may wait for its turn, an answer for hours. */
  private async whileAccepted(message: ReceivedMessage, work: () => Promise<unknown>): Promise<void> {
    const bytes = Buffer.byteLength(message.body);
    this.accepted++;
    this.acceptedBytes += bytes;
    this.loop?.wake();
    try {
      await work();
    } finally {
      this.accepted--;
      this.acceptedBytes -= bytes;
    }
  }

  private async rejectManifest({ body }: ReceivedMessage, request: ExportRequest, error: AppError): Promise<void> {
    const { jobId } = request;
    const reasons = manifestReasons(error);
    // Another delivery may have read the manifest while this one could not: then the job goes on.
    const unplanned = (job: ExportJobEntity) => job.plan === undefined;
    await this.failWhileTakenIn(request, { code: 'InvalidExportRequest', message: reasons.join('\n') }, unplanned, error);
    const { callback, run = 1 } = (await this.useCases.jobs.find(jobId)) ?? {};
    // Whoever has reopened it by command looks at the job, whose row tells why it failed.
    if (run > 1 && callback === 'none') return;
    await this.useCases.rejectMessage.copyUnlessAnswered({ body, reasons, jobId }, callback);
  }

  /** No receive of any coordinator would find the bucket open: the job ends at once and says why. Its message is in order, so no copy is kept. */
  private async endRefused(request: ExportRequest, error: AppError): Promise<void> {
    const { jobId } = request;
    this.tools.logger.error('The destination refuses what the intake of a job must write there; its job ends', {
      jobId,
      reason: error.message,
    });
    await this.failWhileTakenIn(request, destinationRefusedEnd(error.message), () => true, error);
  }

  private async failWhileTakenIn(
    request: ExportRequest,
    failure: JobError,
    isStill: (job: ExportJobEntity) => boolean,
    cause: AppError,
  ): Promise<void> {
    const isIntake = (job: ExportJobEntity) => isOf(request, job) && job.status === 'PROCESSING' && isStill(job);
    const outcome = await this.useCases.completeJob.fail(request.jobId, failure, isIntake);
    if (outcome === 'not-yet')
      throw new AppError('EXPANDED_ELSEWHERE', 'The job was expanded by another delivery', { disposition: 'yield', cause });
  }

  /** Aborted by a shutdown: at once, for another coordinator. Else later: what failed needs time. */
  private async giveBack(message: ReceivedMessage, error: unknown, shuttingDown: boolean): Promise<void> {
    const { messageId, receiptHandle, receiveCount } = message;
    const { logger } = this.tools;
    const fields = { ...idsOf(message), messageId, receiveCount };
    if (shuttingDown || isYielded(error)) logger.info('Job message handed back', { ...fields, error: toLoggable(error) });
    try {
      if (shuttingDown) await handBack(this.queue, [message], this.maxReceiveCount);
      else await this.queue.changeVisibilityBatch([{ receiptHandle, timeoutS: comeBackS(error, receiveCount) }]);
    } catch (failure) {
      logger.warn('Job message comes back only after its visibility timeout', { ...fields, error: toLoggable(failure) });
    }
  }
}

function comeBackS(error: unknown, receiveCount: number): number {
  return error instanceof JobSetback ? SETBACK_COME_BACK_S * 2 ** (receiveCount - 1) : COME_BACK_S * receiveCount;
}
