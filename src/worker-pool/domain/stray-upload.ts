export interface OpenUpload {
  uploadId: string;
  /** Milliseconds since the epoch, by S3's clock. */
  initiatedMs: number;
}

/** Open uploads of one key, at one moment of S3's clock. */
export interface OpenUploads {
  nowMs: number;
  uploads: readonly OpenUpload[];
}

/** S3 tells both times in whole seconds. */
const CLOCK_STEP_MS = 1_000;

/**
 * Uploads that a lost answer to our Create may have left: begun since our first try, by S3's clock alone, and before the upload that
 * we were told of. Any other is another's: an earlier or later holder's of this task, or another product's.
 */
export function possibleStrays({ nowMs, uploads }: OpenUploads, sinceFirstTryMs: number, ours?: string): string[] {
  const from = nowMs - sinceFirstTryMs - CLOCK_STEP_MS;
  const until = uploads.find(({ uploadId }) => uploadId === ours)?.initiatedMs ?? (ours === undefined ? Infinity : -Infinity);
  return uploads
    .filter(({ uploadId, initiatedMs }) => uploadId !== ours && initiatedMs >= from && initiatedMs <= until)
    .map(({ uploadId }) => uploadId);
}
