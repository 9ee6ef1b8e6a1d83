import type { CompleteJobUseCase, ExportJobEntity, JobStateRepositoryPort } from '../../export-jobs/index.js';
import { isYielded, retryUntil, toLoggable, type AppLogger, type Clock } from '../../shared/index.js';
import type { RejectMessageUseCase } from '../application/reject-message.use-case.js';
import type { ExportRequest } from '../domain/export-request.js';

export interface LastReceiveServices {
  completeJob: Pick<CompleteJobUseCase, 'fail'>;
  jobs: Pick<JobStateRepositoryPort, 'find'>;
  rejectMessage: Pick<RejectMessageUseCase, 'fail'>;
  clock: Clock;
  logger: AppLogger;
}

/** Between two tries to answer. */
const BACKOFF = { baseMs: 1_000, capMs: 30_000 };

/** After this receive the message is gone, so its token is answered now: the message is held for as long as the tables do not say how. */
export async function answerOnLastReceive(
  request: ExportRequest,
  failed: { receiveCount: number; error: unknown },
  services: LastReceiveServices,
  signal: AbortSignal,
): Promise<void> {
  const { code, name } = toLoggable(failed.error);
  const reason = `The job could not be taken in after ${failed.receiveCount} receives (${code ?? name}); its message is on the dead-letter queue.`;
  await retryUntil<void>(
    async (attempt) => {
      try {
        return { done: true, value: await answer(request, reason, isYielded(failed.error), services, signal) };
      } catch (failure) {
        services.logger.retrying('the last receive of a job message', failure, { jobId: request.jobId, attempt });
        return { done: false };
      }
    },
    { clock: services.clock, backoff: BACKOFF, signal },
  );
}

/** With its job; alone, when no row has the token: then nobody else answers it. One that is dead says so, and nothing has changed. */
async function answer(
  request: ExportRequest,
  reason: string,
  inOtherHands: boolean,
  { completeJob, jobs, rejectMessage }: LastReceiveServices,
  signal: AbortSignal,
): Promise<void> {
  const { jobId, taskToken } = request;
  const failure = { code: 'ExportIntakeFailed', message: reason } as const;
  const row = await jobs.find(jobId);
  if (taskToken !== undefined && row?.taskToken !== taskToken) await rejectMessage.fail(failure, { jobId, taskToken }, signal);
  else if (!inOtherHands) await completeJob.fail(jobId, failure, (job) => isOf(request, job) && job.status === 'PROCESSING');
}

/** The job that this message made, or goes on with: not one that other messages have brought further. */
export function isOf(request: ExportRequest, job: ExportJobEntity): boolean {
  return job.requestHash === request.requestHash && job.taskToken === request.taskToken;
}
