import { JobBatchesPort, type BatchSummary } from '../../../src/export-jobs/application/job-batches.port.js';
import { JobResultsPort } from '../../../src/export-jobs/application/job-results.port.js';
import { LiveCoordinatorsPort } from '../../../src/export-jobs/application/live-coordinators.port.js';
import type { FailedTask } from '../../../src/export-jobs/domain/answer.js';
import type { ExportJobEntity } from '../../../src/export-jobs/domain/export-job.entity.js';
import type { StoreError } from '../../../src/shared/index.js';
import { Gate } from './gate.js';

/** The batches of one job. */
export class FakeJobBatches extends JobBatchesPort {
  rows: BatchSummary[] = [];
  readonly cancelled: { jobId: string; run: number }[] = [];
  readonly sent: { batchNo: number; run: number }[] = [];
  readonly sentAgain: number[] = [];
  /** Of checkpoints, by batch. */
  readonly failures = new Map<number, ReadonlyMap<number, string>>();
  queueEmpty = true;

  constructor(readonly gate: Gate = new Gate()) {
    super();
  }

  list(): Promise<BatchSummary[]> {
    return this.gate.pass('listBatches', () => this.rows);
  }

  failuresOf(_jobId: string, batchNo: number): Promise<ReadonlyMap<number, string>> {
    return this.gate.pass('failuresOf', () => this.failures.get(batchNo) ?? new Map<number, string>());
  }

  send({ run }: { jobId: string; run: number }, batchNos: readonly number[]): Promise<void> {
    return this.gate.pass('sendBatches', () => void this.sent.push(...batchNos.map((batchNo) => ({ batchNo, run }))));
  }

  sendAgain(_jobId: string, observed: readonly BatchSummary[]): Promise<void> {
    return this.gate.pass('sendAgain', () => void this.sentAgain.push(...observed.map(({ batchNo }) => batchNo)));
  }

  isQueueEmpty(): Promise<boolean> {
    return this.gate.pass('isQueueEmpty', () => this.queueEmpty);
  }

  cancel(jobId: string, run: number): Promise<void> {
    return this.gate.pass('cancelBatches', () => {
      this.cancelled.push({ jobId, run });
      this.rows = this.rows.map((row) =>
        row.run <= run && (row.status === 'queued' || row.status === 'running') ? { ...row, status: 'cancelled' } : row,
      );
    });
  }
}

/** What lies in S3, by key. */
export class FakeJobResults extends JobResultsPort {
  readonly objects = new Map<string, string>();
  firstFailures: FailedTask[] = [];
  /** What each further call meets. */
  failsWith: StoreError | undefined;
  /** How often a manifest was asked for. */
  asked = 0;
  readonly #watches = new Set<() => void>();

  constructor(readonly gate: Gate = new Gate()) {
    super();
  }

  /** Something moves in each manifest that is being written. */
  progress(): void {
    for (const onProgress of this.#watches) onProgress();
  }

  saveRequest(job: ExportJobEntity, requestJson: string): Promise<void> {
    if (this.failsWith !== undefined) return Promise.reject(this.failsWith);
    return this.gate.pass('saveRequest', () => void this.objects.set(job.requestKey, requestJson));
  }

  loadRequest(job: ExportJobEntity): Promise<string> {
    return this.gate.pass('loadRequest', () => {
      const request = this.objects.get(job.requestKey);
      if (request === undefined) throw new Error(`no ${job.requestKey}`);
      return request;
    });
  }

  writeManifest(
    job: ExportJobEntity,
    batches: readonly BatchSummary[],
    { onProgress }: { onProgress: () => void },
  ): Promise<{ resultKey: string; firstFailures: FailedTask[] }> {
    this.asked++;
    if (this.failsWith !== undefined) return Promise.reject(this.failsWith);
    this.#watches.add(onProgress);
    return this.gate.pass('writeManifest', () => {
      this.#watches.delete(onProgress);
      const resultKey = `run-${job.run}/manifest.json`;
      this.objects.set(resultKey, JSON.stringify({ outcome: job.outcome, batches }));
      return { resultKey, firstFailures: this.firstFailures };
    });
  }
}

export class FakeLiveCoordinators extends LiveCoordinatorsPort {
  readonly self = 'me';
  others: string[] = [];
  works = true;

  list(): readonly string[] {
    return [this.self, ...this.others];
  }

  someoneWorks(): boolean {
    return this.works;
  }
}
