import type { SQSClient } from '@aws-sdk/client-sqs';
import type { CompleteJobUseCase } from '../../export-jobs/index.js';
import type { DrainDeadlines, LifecyclePart } from '../../platform/index.js';
import {
  PollLoop,
  resolveVisibilityTimeoutS,
  SqsVisibilityAdapter,
  VisibilityHeartbeats,
  type ReceivedMessage,
  type SqsQueue,
} from '../../platform/sqs/index.js';
import { AppError, Semaphore, toLoggable, type AppLogger, type Clock, type Metrics } from '../../shared/index.js';
import type { AcceptJobUseCase } from '../application/accept-job.use-case.js';
import type { ExpandJobUseCase } from '../application/expand-job.use-case.js';
import type { RejectMessageUseCase } from '../application/reject-message.use-case.js';
import type { ExportRequest } from '../domain/export-request.js';
import { parseExportJobMessage } from './export-job-message.schema.js';
import { ManifestError } from './manifest/index.js';
import { resolveExportRequest, type RequestDefaults } from './resolve-export-request.js';

/** Accepted messages that wait for their expansion or are in it; each is held by a visibility heartbeat. */
const MAX_IN_HAND = 64;
/** The jobs queue's own maxReceiveCount: after this receive the message goes to the dead-letter queue. */
const MAX_RECEIVE_COUNT = 5;
/** A message that failed for our own reasons comes back after this, times the number of its receives. */
const COME_BACK_S = 10;

export interface ConsumerSettings {
  defaults: RequestDefaults;
  intakeConcurrency: number;
  visibility: { intervalMs: number; timeoutS?: number };
}

export interface ConsumerUseCases {
  acceptJob: AcceptJobUseCase;
  expandJob: ExpandJobUseCase;
  rejectMessage: RejectMessageUseCase;
  completeJob: CompleteJobUseCase;
}

export interface ConsumerTools {
  clock: Clock;
  logger: AppLogger;
  metrics: Metrics;
}

/*
 * receive ─▶ held by a visibility heartbeat ─▶ parse ─▶ accept (first task heartbeat) ─▶ wait for a place ─▶ expand ─▶ delete
 *               │                                ├─ unusable ─▶ token failed, copy to the dead-letter queue ─▶ delete
 *               │                                └─ manifest at fault ─▶ job failed, copy ─▶ delete
 *               ├─ lost (someone else has it) ─▶ not deleted: whoever has it goes on where the row says
 *               ├─ our own failure ─▶ comes back later; on the last receive the job fails with ExportIntakeFailed
 *               └─ shutdown ─▶ made visible at once
 */
export class ExportJobConsumer implements LifecyclePart {
  private readonly expansions: Semaphore;
  private readonly stopping = new AbortController();
  private loop: PollLoop | undefined;
  private visibility: VisibilityHeartbeats | undefined;

  constructor(
    private readonly settings: ConsumerSettings,
    private readonly queue: SqsQueue,
    private readonly sqs: SQSClient,
    private readonly useCases: ConsumerUseCases,
    private readonly tools: ConsumerTools,
  ) {
    this.expansions = new Semaphore(settings.intakeConcurrency);
  }

  async start(): Promise<void> {
    const { clock, logger } = this.tools;
    const timeoutS = await resolveVisibilityTimeoutS(this.queue, this.settings.visibility.timeoutS, logger);
    this.visibility = new VisibilityHeartbeats(
      new SqsVisibilityAdapter(this.sqs),
      { intervalMs: this.settings.visibility.intervalMs, timeoutS },
      this.tools,
    );
    const visibility = this.visibility;
    this.loop = new PollLoop({
      name: 'Jobs queue',
      queue: this.queue,
      capacity: () => MAX_IN_HAND,
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

  async quiesce(): Promise<void> {
    this.stopping.abort();
    await this.loop?.stop();
  }

  async drain(_deadlines: DrainDeadlines): Promise<void> {
    await this.loop?.idle();
  }

  private async handle(message: ReceivedMessage, visibility: VisibilityHeartbeats): Promise<void> {
    const { receiptHandle, receivedAt, messageId } = message;
    const held = visibility.forMessage({ queueUrl: this.queue.url, receiptHandle, receivedAt, messageId });
    held.start();
    const signal = AbortSignal.any([held.signal, this.stopping.signal]);
    try {
      await this.process(message, signal);
      await held.stop();
      if (held.error !== undefined)
        return this.tools.logger.warn('Job message was lost while it was worked on; it is not deleted', { messageId });
      await this.queue.delete(receiptHandle);
    } catch (error) {
      await held.stop();
      await this.giveBack(message, error);
    }
  }

  private async process(message: ReceivedMessage, signal: AbortSignal): Promise<void> {
    const parsed = parseExportJobMessage(message.body);
    if (parsed.kind === 'unusable') return this.useCases.rejectMessage.reject({ body: message.body, ...parsed }, signal);
    const resolved = await resolveExportRequest(parsed.message, parsed.files, this.settings.defaults);
    if (resolved.kind === 'unusable') {
      const { jobId, taskToken } = parsed.message;
      return this.useCases.rejectMessage.reject(
        { body: message.body, reasons: resolved.reasons, jobId, ...(taskToken === undefined ? {} : { taskToken }) },
        signal,
      );
    }
    await this.take(message, resolved.request, signal);
  }

  private async take(message: ReceivedMessage, request: ExportRequest, signal: AbortSignal): Promise<void> {
    const { acceptJob, expandJob, rejectMessage, completeJob } = this.useCases;
    try {
      if ((await acceptJob.accept(request, signal)) === 'acknowledge') return;
      await this.expansions.run(signal, () => expandJob.expand(request, signal));
      signal.throwIfAborted();
    } catch (error) {
      if (error instanceof AppError && error.disposition === 'reject') {
        const reasons = manifestReasons(error);
        await completeJob.fail(request.jobId, { code: 'InvalidExportRequest', message: reasons.join('\n') });
        return rejectMessage.reject({ body: message.body, reasons, jobId: request.jobId }, signal);
      }
      if (!signal.aborted && message.receiveCount >= MAX_RECEIVE_COUNT)
        await completeJob.fail(request.jobId, {
          code: 'ExportIntakeFailed',
          message: `The job could not be taken in after ${message.receiveCount} receives (${toLoggable(error).name}); its message is on the dead-letter queue.`,
        });
      throw error;
    }
  }

  /** Aborted by a shutdown: at once, for another coordinator. Else later: what failed needs time. */
  private async giveBack(message: ReceivedMessage, error: unknown): Promise<void> {
    const { messageId, receiptHandle, receiveCount } = message;
    const { logger } = this.tools;
    if (this.stopping.signal.aborted) logger.info('Job message handed back', { messageId });
    else logger.error('Job message failed and comes again', { messageId, receiveCount, error: toLoggable(error) });
    const timeoutS = this.stopping.signal.aborted ? 0 : COME_BACK_S * receiveCount;
    await this.queue.changeVisibilityBatch([{ receiptHandle, timeoutS }]).catch(() => undefined);
  }
}

/** The first says what is wrong as a whole; each of the others names a line. */
function manifestReasons(error: AppError): string[] {
  if (error instanceof ManifestError) return [error.message, ...error.problems.map(({ line, reason }) => `line ${line}: ${reason}`)];
  return [`The manifest cannot be read (${error.code}): ${error.message}`];
}
