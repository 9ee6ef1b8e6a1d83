import type { Ends } from '../transfers/ends.js';
import type { PlannedFile } from '../transfers/transfer-plan.js';

/** The same for everyone, as far as each has a notion of it. */
export interface Limits {
  threads: number;
  /** Files at the same time in each thread: threads × this are the connections to the origin. */
  filesPerThread: number;
  /** Parts of one file at the same time. */
  partsPerFile: number;
  partBytes: number;
}

export interface RunFigures {
  wallS: number;
  /** User and system, of all its processes and threads, from its first file on. */
  cpuS: number;
}

/** Somebody who brings files. */
export interface Contender {
  readonly name: string;
  readonly version: string;
  /** @throws BenchError when it fails or says that a file failed */
  run(files: readonly PlannedFile[], ends: Ends, limits: Limits): Promise<RunFigures>;
}
