import { readFileSync, writeFileSync } from 'node:fs';

/** Resident memory of a process, as Linux counts it. */
export interface ResidentMib {
  now: number;
  /** Since its start, or since `forgetPeak`. */
  peak: number;
}

export function residentMib(pid: number): ResidentMib {
  return parseStatus(readFileSync(`/proc/${pid}/status`, 'latin1'));
}

export function parseStatus(status: string): ResidentMib {
  const mib = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1024;
  return { now: mib('VmRSS'), peak: mib('VmHWM') };
}

/** The peak counts from now on (Linux: `5` in clear_refs). */
export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}
