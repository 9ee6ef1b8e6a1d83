/** Parts of conditions on a job's row that more than one write states, and the names that they use. */
export const SAME_RUN = '#run = :run';
export const STATUS_IS_FINALIZING = '#status = :finalizing';
export const NAMES = { '#status': 'status', '#run': 'run' };
