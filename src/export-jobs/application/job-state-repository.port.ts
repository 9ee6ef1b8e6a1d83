import type {
  ActiveStatus,
  BatchCount,
  Callback,
  ExpansionPlan,
  ExportJobEntity,
  Finisher,
  JobOutcome,
  JobStatus,
  ResultsNotWritten,
} from '../domain/export-job.entity.js';
import type { ReopenedCounts } from '../domain/reopening.js';

export interface NewJob extends Pick<
  ExportJobEntity,
  'jobId' | 'exportId' | 'userId' | 'taskToken' | 'destination' | 'tolerance' | 'failFast' | 'requestKey' | 'requestHash' | 'metadata'
> {
  createdAt: string;
}

/** `refused`: the condition failed; read again, it may have been your own write that a retry met. */
export type ConditionalWrite = { kind: 'written'; job: ExportJobEntity } | { kind: 'refused' };

export interface CountWrite {
  jobId: string;
  run: number;
  batchNo: number;
  /** The recorded value that `delta` was computed from; `undefined`: none. */
  old: BatchCount | undefined;
  next: BatchCount;
  delta: BatchCount;
  /** True with the batch's last count. */
  ended: boolean;
}

/** What became of an ended job's results and of its token. */
export interface Answered {
  resultKey?: string;
  resultsNotWritten?: ResultsNotWritten;
  callback: Callback;
  /** Ended by a process whose metrics nobody collects. */
  uncounted?: true;
}

/** What a job starts its next run with; without a token it runs with no callbacks. */
export interface Reopening extends ReopenedCounts {
  taskToken?: string;
}

/** Which jobs a reading of all jobs is for; each part that is given must hold. */
export interface JobFilter {
  statuses?: readonly JobStatus[] | undefined;
  /** ISO-8601. */
  createdSince?: string | undefined;
  /** How their ids begin. */
  idPrefix?: string | undefined;
}

/** Ids of jobs that are, or a moment ago were, in that status. */
export interface ActiveJobs {
  status: ActiveStatus;
  jobIds: string[];
}

/**
 * The rows of export jobs. Every write is one conditional write; a write whose answer was lost throws, and its caller
 * reads again. Reads are consistent, except `listActive`, which finds candidates in an index that lags.
 */
export abstract class JobStateRepositoryPort {
  /** Creates the row (PROCESSING, run 1, attempt 1) unless the jobId is taken. */
  abstract createIfAbsent(job: NewJob): Promise<{ kind: 'created' | 'exists'; job: ExportJobEntity }>;
  abstract find(jobId: string): Promise<ExportJobEntity | undefined>;
  abstract findMany(jobIds: readonly string[]): Promise<ExportJobEntity[]>;
  /** Jobs that are, or a moment ago were, in one of these statuses, page by page. */
  abstract listActive(statuses: readonly ActiveStatus[]): AsyncIterable<ActiveJobs>;

  /** IF PROCESSING, same run, no plan yet: of two expanders with different ideas one wins. No batch is due yet. */
  abstract recordPlan(jobId: string, run: number, plan: ExpansionPlan): Promise<ConditionalWrite>;
  /** IF PROCESSING, same run: expansion goes on, so the job progresses. */
  abstract touchProgress(jobId: string, run: number): Promise<ConditionalWrite>;
  /**
   * PROCESSING → DOWNLOADING, IF same run.
   * @param sentBatches batches with a lower number are due from now on
   */
  abstract startDownloading(jobId: string, run: number, sentBatches: number): Promise<ConditionalWrite>;
  /** IF DOWNLOADING, same run, `sentBatches` as observed. */
  abstract recordSent(observed: ExportJobEntity, sentBatches: number): Promise<ConditionalWrite>;
  /** IF same run, PROCESSING or DOWNLOADING, batch not ended, recorded value = `old`. */
  abstract count(write: CountWrite): Promise<ConditionalWrite>;
  /** IF same run, status and token as observed. */
  abstract replaceToken(observed: ExportJobEntity, taskToken: string): Promise<ConditionalWrite>;
  /** IF the job still carries this token. */
  abstract recordHeartbeat(jobId: string, taskToken: string, at: string): Promise<ConditionalWrite>;

  /**
   * PROCESSING | DOWNLOADING → FINALIZING, IF run, status, counters and last progress are as observed. The decider is its finisher,
   * under `decidedBy`.
   */
  abstract beginFinalizing(observed: ExportJobEntity, outcome: JobOutcome): Promise<ConditionalWrite>;
  /** Another finisher, IF FINALIZING, same run, and the finisher is as observed. `refused`: it lives, or someone else was faster. */
  abstract takeOverFinish(observed: ExportJobEntity, finisherId: string): Promise<ConditionalWrite>;
  /** The holder's sign of life, IF FINALIZING, same run, the same finisher, and `seq` is not older. `refused`: the lease is lost. */
  abstract renewFinish(jobId: string, run: number, finisher: Finisher): Promise<ConditionalWrite>;
  /** FINALIZING → its outcome's status, IF same run; the row loses its token and its finisher. */
  abstract end(jobId: string, run: number, outcome: JobOutcome, answered: Answered): Promise<ConditionalWrite>;
  /** What the token was answered, IF same run and the job was ended by a finisher that found the token gone. */
  abstract recordAnswer(jobId: string, run: number, callback: 'success' | 'failure'): Promise<ConditionalWrite>;
  /** The end of this run is about to be counted, IF same run and it is not counted yet. */
  abstract claimUncounted(jobId: string, run: number): Promise<ConditionalWrite>;
  /** PROCESSING | DOWNLOADING → CANCELLED, IF same run and the row carries this (dead) token. */
  abstract cancelDead(jobId: string, run: number, taskToken: string): Promise<ConditionalWrite>;
  /**
   * COMPLETED | FAILED | CANCELLED → PROCESSING with run + 1, these counts, no batch due, and attempt + 1 if a token comes with them, IF
   * status and run are as observed; what the former run ended with goes.
   */
  abstract reopen(observed: ExportJobEntity, reopening: Reopening): Promise<ConditionalWrite>;
  /** Active jobs for people, newest first; ended ones have left the index. */
  abstract list(statuses: readonly ActiveStatus[], limit: number): Promise<ExportJobEntity[]>;
  /** Jobs of any status for people, page by page, in no order. Reads the whole table, and may miss what was written a moment ago. */
  abstract scan(filter: JobFilter): AsyncIterable<ExportJobEntity[]>;
}
