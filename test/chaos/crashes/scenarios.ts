import { FaultProxy } from '../fault-proxy.js';
import { Command } from './command.js';
import { CrashJob, type CrashFile } from './crash-job.js';
import type { Lane } from './lane.js';
import type { WriteWatch } from './write-watch.js';

export interface Act {
  job: CrashJob;
  watch: WriteWatch;
}

export interface Scenario {
  name: string;
  /** Of whose writes one is the last. */
  victim: string;
  /** An operator has cancelled the job. */
  cancelled?: true;
  /**
   * Brings a job about and has its victim watched; a service runs in the lane. Resolves once the victim is dead, or has nothing more to write.
   * @param write at which the victim is killed; none: it is left alone
   */
  act(lane: Lane, write: number | undefined): Promise<Act>;
}

/** In batches of two. */
const PLAIN: CrashFile[] = ['small', 'small', 'large'];
/** In more batches than may be out at a time. */
const MANY: CrashFile[] = Array.from({ length: 9 }, () => 'small' as const);
const FAILING: CrashFile[] = ['small', 'missing'];
const HELD: CrashFile[] = ['small', 'held', 'held', 'small'];
/** Both batches have something new to hand back, and something that has to be given up. */
const SLOW: CrashFile[] = ['slow', 'held', 'held', 'slow'];
const LATE: CrashFile[] = ['small', 'late', 'small'];

export const SCENARIOS: Scenario[] = [
  { name: 'success', victim: 'the service, from the job message to the end', act: (lane, write) => fromTheStart(lane, write, PLAIN) },
  { name: 'failure', victim: 'the same with a file that is not there', act: (lane, write) => fromTheStart(lane, write, FAILING) },
  { name: 'window', victim: 'the same with more batches than may be out', act: (lane, write) => fromTheStart(lane, write, MANY) },
  { name: 'cancel', victim: "an operator's cancel command, while the service has the job in hand", cancelled: true, act: cancelled },
  { name: 'drain', victim: 'the service from SIGTERM on, with files in hand', act: drained },
  { name: 'reclaim', victim: 'the service that takes over from a killed one, from its launch to the end', act: reclaimed },
  { name: 'reopen', victim: 'the service, from the new token of a failed job to the end', act: reopened },
];

async function fromTheStart(lane: Lane, write: number | undefined, files: CrashFile[]): Promise<Act> {
  const watch = lane.watch(write);
  const job = await CrashJob.start(lane.world, files);
  await lane.stoppedOrEnded(watch, job);
  return { job, watch };
}

async function cancelled(lane: Lane, write: number | undefined): Promise<Act> {
  const job = await CrashJob.start(lane.world, HELD);
  await lane.until(() => job.isHeld);
  const network = await FaultProxy.start(lane.world.aws.endpoints);
  try {
    const command = Command.start(['cancel', job.jobId], { ...lane.environment, ...network.environment() });
    const watch = lane.watchOther(network, write, () => command.kill());
    const code = await command.ended;
    await watch.end();
    if (watch.stoppedAt === undefined && code !== 0) throw new Error(`The command ended with ${code}:\n${command.said}`);
    return { job, watch };
  } finally {
    await network.close();
  }
}

async function drained(lane: Lane, write: number | undefined): Promise<Act> {
  const job = await CrashJob.start(lane.world, SLOW);
  await lane.until(() => job.isHeld);
  const watch = lane.watch(write);
  job.hurry();
  await lane.coordinator.shutDownAll();
  return { job, watch };
}

async function reclaimed(lane: Lane, write: number | undefined): Promise<Act> {
  const job = await CrashJob.start(lane.world, HELD);
  // What is done is in the checkpoints: there is something to go on from.
  await lane.until(async () => job.isHeld && (await lane.rowsOf(job)).job?.completedTasks === job.quickTasks);
  await lane.kill();
  const watch = lane.watch(write);
  await lane.ensureStarted();
  await lane.stoppedOrEnded(watch, job);
  return { job, watch };
}

/** A job that failed is started again under its name once its missing files are there. */
async function reopened(lane: Lane, write: number | undefined): Promise<Act> {
  const job = await CrashJob.start(lane.world, LATE);
  await lane.ended(job);
  job.arrive();
  const watch = lane.watch(write);
  await job.startAgain();
  await lane.stoppedOrEnded(watch, job);
  return { job, watch };
}
