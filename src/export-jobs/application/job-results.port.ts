import type { FailedTask } from '../domain/answer.js';
import type { ExportJobEntity } from '../domain/export-job.entity.js';
import type { BatchSummary } from './job-batches.port.js';

/** What of a job lies in S3. */
export abstract class JobResultsPort {
  /** Writes `input/request.json`; the same request again writes the same bytes. @throws StoreError */
  abstract saveRequest(job: ExportJobEntity, requestJson: string): Promise<void>;
  /** The text that was saved: the job's message without its token. Throws when it is not there. */
  abstract loadRequest(job: ExportJobEntity): Promise<string>;
  /**
   * Writes `manifest.json` and `failed.jsonl` of the job's run from the result files that its batch rows recorded.
   * The same rows again write the same bytes.
   * @param watch.onProgress called whenever something was read or written
   * @throws StoreError, and nothing else, when S3 does not do its part
   */
  abstract writeManifest(
    job: ExportJobEntity,
    batches: readonly BatchSummary[],
    watch: { signal: AbortSignal; onProgress: () => void },
  ): Promise<{ resultKey: string; firstFailures: FailedTask[] }>;
}
