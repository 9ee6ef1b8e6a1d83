const MIB = 1024 * 1024;

/** Up to this many bytes go in one PutObject; no part but the last is smaller. */
export const MIN_PART_BYTES = 8 * MIB;
/** Limits of S3. */
export const MAX_PARTS = 10_000;
const MAX_PART_BYTES = 5 * 1024 * MIB;

export interface PartPlace {
  /** 1, 2, 3 … */
  number: number;
  /** Of all the parts before it. */
  bytesBefore: number;
  /** Bytes of the whole body, if known. */
  size: number | undefined;
}

/**
 * Bytes of a part, or undefined where the file cannot be taken. No part is larger than half of the memory for parts, whatever a
 * source claims or sends: the other half is for the one before it.
 */
export function partBytes({ number, bytesBefore, size }: PartPlace, memoryBytes: number): number | undefined {
  const most = largestPartBytes(memoryBytes);
  if (size !== undefined) return plannedPartBytes(size) > most ? undefined : Math.min(plannedPartBytes(size), size - bytesBefore);
  return number > MAX_PARTS ? undefined : Math.min(growingPartBytes(bytesBefore), most);
}

/** Why a file is not taken, and what would help. */
export function tooLargeText({ bytesBefore, size }: PartPlace, memoryBytes: number): string {
  const count = new Intl.NumberFormat('en-US');
  const setting = `TRANSFER_MEMORY_MB=${Math.floor(memoryBytes / MIB)}`;
  if (size === undefined)
    return `the file has more than the ${count.format(bytesBefore)} bytes that ${setting} allows where no size is known: raise it, or give the size`;
  if (size > MAX_PART_BYTES * MAX_PARTS)
    return `the file has ${count.format(size)} bytes, more than the ${count.format(MAX_PART_BYTES * MAX_PARTS)} of an S3 object`;
  const needed = Math.ceil((2 * plannedPartBytes(size)) / MIB);
  const limit = largestPartBytes(memoryBytes) * MAX_PARTS;
  return `the file has ${count.format(size)} bytes, more than the ${count.format(limit)} that ${setting} allows: raise it to ${needed}`;
}

/** Each of a body whose size is known. */
function plannedPartBytes(totalBytes: number): number {
  return Math.max(MIN_PART_BYTES, Math.ceil(totalBytes / MAX_PARTS));
}

/** The next of a body whose end is not in sight: 8 MiB up to 10 GiB, then a share of what went before, so that 10,000 parts hold far more. */
function growingPartBytes(bytesBefore: number): number {
  return Math.max(MIN_PART_BYTES, Math.ceil(bytesBefore / 1_250));
}

function largestPartBytes(memoryBytes: number): number {
  return Math.min(Math.floor(memoryBytes / 2), MAX_PART_BYTES);
}
