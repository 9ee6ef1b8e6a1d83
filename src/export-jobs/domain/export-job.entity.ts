/** PROCESSING → DOWNLOADING → FINALIZING → COMPLETED | FAILED | CANCELLED; the diagram is in CompleteJobUseCase. */
export const ACTIVE_STATUSES = ['PROCESSING', 'DOWNLOADING', 'FINALIZING'] as const;
export const TERMINAL_STATUSES = ['COMPLETED', 'FAILED', 'CANCELLED'] as const;
export type ActiveStatus = (typeof ACTIVE_STATUSES)[number];
export type TerminalStatus = (typeof TERMINAL_STATUSES)[number];
export type JobStatus = ActiveStatus | TerminalStatus;

/** Error names a state machine sees in Retry and Catch. */
export const JOB_ERROR_CODES = [
  'JobCompletedWithFailures',
  'JobStalled',
  'DestinationRefused',
  'InvalidExportRequest',
  'ExportIntakeFailed',
  'JobIdConflict',
  'ExportCancelled',
] as const;
export type JobErrorCode = (typeof JOB_ERROR_CODES)[number];

export interface JobError {
  code: JobErrorCode;
  message: string;
}

/** What we decided to answer, written with FINALIZING: a crash anywhere later repeats it. */
export interface JobOutcome {
  status: TerminalStatus;
  error?: JobError;
  /** ISO-8601; becomes `completedAt`, so that a repeated finish writes the same bytes. */
  decidedAt: string;
  /** Random: the decider recognises its own write after a lost reply. */
  decidedBy: string;
  /** Decided before every task was counted: not every batch of the job is final then. */
  partial?: true | undefined;
}

/** Who may answer the token of a job that is FINALIZING. `seq` grows with each renewal, so that others see the holder live. */
export interface Finisher {
  /** Random, of one finish: the holder recognises its own write after a lost reply. */
  id: string;
  seq: number;
}

/** The file of results that S3 did not take, and the code with which it refused or failed. */
export interface ResultsNotWritten {
  bucket: string;
  key: string;
  code: string;
}

/** How the token's one answer went. `unknown`: a reply was lost, then the token was gone. */
export type Callback = 'success' | 'failure' | 'gone' | 'unknown' | 'none';

export interface Destination {
  bucket: string;
  /** Empty, or ends with `/`. */
  prefix: string;
}

/** Each bound that is given must hold; with none given no failure is tolerated. */
export interface FailureTolerance {
  count?: number | undefined;
  /** 0..100 of totalTasks. */
  percentage?: number | undefined;
}

/** What expansion found out; recorded once per run with a single winner. */
export interface ExpansionPlan {
  totalTasks: number;
  batchCount: number;
  /** Tasks in each batch but the last. */
  batchSize: number;
  /** Key prefix of this expansion's segments. */
  segmentPrefix: string;
  /** Files that the list has more than once, word for word: they count once. Absent when there are none. */
  repeatedTasks?: number | undefined;
}

/** What is recorded for one batch in the counters of its job. */
export interface BatchCount {
  completed: number;
  failed: number;
  bytes: number;
}

/** One export: the row in ExportJobs. Instants are ISO-8601 UTC. */
export interface ExportJobEntity {
  readonly jobId: string;
  readonly exportId: string;
  readonly userId: string;
  readonly status: JobStatus;
  /** One life of the job between accept (or reopening) and its end. */
  readonly run: number;
  /** How many task tokens this job has had. */
  readonly attempt: number;
  readonly taskToken?: string;
  readonly destination: Destination;
  readonly tolerance: FailureTolerance;
  /** Ends as soon as its failures exceed its tolerance for good. */
  readonly failFast?: boolean;
  readonly requestKey: string;
  readonly requestHash: string;
  readonly plan?: ExpansionPlan;
  /** Batches with a lower number are due: their message was sent in this run at least once. */
  readonly sentBatches: number;
  readonly completedTasks: number;
  readonly failedTasks: number;
  readonly bytesProcessed: number;
  /** Running batches only; an ended batch moves to `endedBatches`. */
  readonly batchProgress: ReadonlyMap<number, BatchCount>;
  readonly endedBatches: ReadonlySet<number>;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** When its present run began, and what was done before; absent in the first run, and in a run that a former version began. */
  readonly reopened?: { readonly at: string; readonly completed: number; readonly bytes: number };
  readonly completedAt?: string;
  readonly lastProgressAt: string;
  readonly lastHeartbeatAt?: string;
  readonly outcome?: JobOutcome;
  /** While it is FINALIZING; absent when a former version decided. */
  readonly finisher?: Finisher;
  readonly resultKey?: string;
  /** Why an ended job has no `resultKey`. */
  readonly resultsNotWritten?: ResultsNotWritten;
  readonly callback?: Callback;
  readonly error?: JobError;
  /** It was ended by a command, and no coordinator has counted that yet. */
  readonly uncounted?: true;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export function isTerminal(status: JobStatus): status is TerminalStatus {
  return status === 'COMPLETED' || status === 'FAILED' || status === 'CANCELLED';
}

/** Counts go only into a job that is not being answered yet. */
export function isCounting(status: JobStatus): boolean {
  return status === 'PROCESSING' || status === 'DOWNLOADING';
}
