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
/** All together, whatever their state: past it each job gets its share of the places and no more. */
const RUNNING_PER_PLACE = 8;

/**
 * Whether a job may start a task now: a place is free, or the job has less than its fair share of the places and others hold the rest. It
 * then starts beyond the places: those who hold more than their share may read for hours, and nobody waits for another job.
 *
 * @param busyPerPlace tasks that are read or on their way to S3, for each place: more would pile up in front of a slow S3
 * @param jobs those that hold a place, and those with running tasks of whatever state; this one included in both
 */
export function mayStart(
  job: PlaceUse,
  all: PlaceUse,
  { places, busyPerPlace }: { places: number; busyPerPlace: number },
  jobs: { busy: number; running: number },
): boolean {
  if (job.silent >= shareOf(places * SILENT_PER_PLACE, jobs.running)) return false;
  const isBelowShare = job.reading + job.sending < shareOf(places, jobs.busy);
  const isFree = all.reading < places && all.reading + all.sending < places * busyPerPlace;
  return isBelowShare || (isFree && runningOf(all) < places * RUNNING_PER_PLACE);
}

export function runningOf({ reading, sending, silent }: PlaceUse): number {
  return reading + sending + silent;
}

function shareOf(total: number, jobs: number): number {
  return total === 0 ? 0 : Math.max(1, Math.floor(total / jobs));
}
