/**
 * How places are shared. A place is the right to read a source; threads × tasks per thread of them are best for the machine.
 * What waits holds none: a task whose source has been silent for a while gives its place back while it goes on waiting.
 */

/** Running tasks, of a job or of all jobs together. */
export interface PlaceUse {
  /** Their source is being read. */
  reading: number;
  /** Their source has been read, the end of the file is on its way to S3. */
  sending: number;
  /** Their source was asked, or read from, and has sent nothing for a while. */
  silent: number;
}

/** Silent tasks cost a connection and little else. */
const SILENT_PER_PLACE = 4;
/** All together, whatever their state: past it each job has one task at a time. Only many jobs at once come near it. */
const RUNNING_PER_PLACE = 8;

/**
 * Whether a job may start a task now: a place is free, or the job has less than its fair share of the places and others hold the rest. It
 * then starts beyond the places: those who hold more than their share may read for hours, and nobody waits for another job.
 *
 * @param busyPerPlace tasks that are read or on their way to S3, for each place: more would pile up in front of a slow S3
 * @param jobs those with running tasks, this one included
 */
export function mayStart(
  job: PlaceUse,
  all: PlaceUse,
  { places, busyPerPlace }: { places: number; busyPerPlace: number },
  jobs: number,
): boolean {
  if (runningOf(all) >= places * RUNNING_PER_PLACE && runningOf(job) > 0) return false;
  if (job.silent >= shareOf(places * SILENT_PER_PLACE, jobs)) return false;
  const isFree = all.reading < places && all.reading + all.sending < places * busyPerPlace;
  return isFree || job.reading + job.sending < shareOf(places, jobs);
}

export function runningOf({ reading, sending, silent }: PlaceUse): number {
  return reading + sending + silent;
}

function shareOf(total: number, jobs: number): number {
  return total === 0 ? 0 : Math.max(1, Math.floor(total / jobs));
}
