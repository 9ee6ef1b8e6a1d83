const MIB = 1024 * 1024;

/** Up to this many bytes go in one PutObject; no part but the last is smaller. */
export const MIN_PART_BYTES = 8 * MIB;
/** Limits of S3. */
export const MAX_PARTS = 10_000;
export const MAX_PART_BYTES = 5 * 1024 * MIB;

/** Bytes of each part of a body whose size is known. */
export function plannedPartBytes(totalBytes: number): number {
  return Math.max(MIN_PART_BYTES, Math.ceil(totalBytes / MAX_PARTS));
}

/**
 * Bytes of the next part of a body whose end is not in sight: 8 MiB up to 10 GiB, then a share of what went before,
 * so that 10,000 parts hold more than 8 TiB and yet each is small beside what is already stored.
 */
export function growingPartBytes(bytesBefore: number): number {
  return Math.max(MIN_PART_BYTES, Math.ceil(bytesBefore / 1_250));
}
