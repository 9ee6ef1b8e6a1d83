import type { Destination } from './export-job.entity.js';

/** Keys under `<prefix>_export/<jobId>/`; never usable as the source of a job. */
export const EXPORT_FOLDER = '_export/';

function folder(destination: Destination, jobId: string): string {
  return `${destination.prefix}${EXPORT_FOLDER}${jobId}/`;
}

function padded(batchNo: number): string {
  return String(batchNo).padStart(6, '0');
}

export function requestKey(destination: Destination, jobId: string): string {
  return `${folder(destination, jobId)}input/request.json`;
}

/** A prefix of one expansion: two expanders at once never overwrite each other's segments. */
export function segmentPrefix(destination: Destination, jobId: string, expansionId: string): string {
  return `${folder(destination, jobId)}input/${expansionId}/`;
}

export function segmentKey(prefix: string, batchNo: number): string {
  return `${prefix}${padded(batchNo)}.jsonl`;
}

/** @param fence the writer's lockToken, or the reclaimId of whoever gives the batch up: no row names the files of a late holder */
export function batchResultKeys(
  destination: Destination,
  jobId: string,
  batchNo: number,
  fence: string,
): { succeeded: string; failed: string } {
  const results = `${folder(destination, jobId)}results/`;
  return {
    succeeded: `${results}SUCCEEDED_${padded(batchNo)}_${fence}.jsonl`,
    failed: `${results}FAILED_${padded(batchNo)}_${fence}.jsonl`,
  };
}

export function manifestKey(destination: Destination, jobId: string, run: number): string {
  return `${folder(destination, jobId)}run-${run}/manifest.json`;
}

export function failedManifestKey(destination: Destination, jobId: string, run: number): string {
  return `${folder(destination, jobId)}run-${run}/failed.jsonl`;
}
