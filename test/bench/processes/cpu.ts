import { readFileSync } from 'node:fs';
import { BenchError } from '../report/bench-error.js';

/** Linux tells user space in ticks of 10 ms, on every architecture that Node runs on. */
const TICKS_PER_SECOND = 100;
/** Places in /proc/<pid>/stat behind the command's name. */
const OWN_TIMES = [11, 12];
const TIMES_OF_ENDED_CHILDREN = [13, 14];

/** User and system seconds of one running process, all its threads together. */
export function cpuSecondsOf(pid: number): number {
  return seconds(read(pid), OWN_TIMES);
}

/** User and system seconds of all children of this process that have ended, with theirs. */
export function cpuSecondsOfEndedChildren(): number {
  return seconds(read('self'), TIMES_OF_ENDED_CHILDREN);
}

function read(pid: number | 'self'): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch (cause) {
    throw new BenchError('CPU seconds are read from /proc/<pid>/stat: this bench runs on Linux only.', { cause });
  }
}

/** The command's name may hold blanks and brackets: it ends at the last one. */
export function seconds(stat: string, places: readonly number[]): number {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return places.reduce((sum, place) => sum + Number(fields[place]), 0) / TICKS_PER_SECOND;
}
