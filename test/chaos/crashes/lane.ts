import type { Semaphore } from '../../../src/shared/index.js';
import { eventually } from '../../support/local-aws.js';
import type { AwsRequest } from '../aws-request.js';
import { rowsOf, type Row } from '../checks.js';
import type { Coordinator } from '../coordinator.js';
import { FaultProxy } from '../fault-proxy.js';
import { QUIET } from '../plan.js';
import { World } from '../world.js';
import { PATIENCE, type CrashJob } from './crash-job.js';
import { WriteWatch } from './write-watch.js';

/**
 * Many lanes share the machine and one process with every lane's AWS, so each service asks for little and has little to start.
 * Leases last three times as long as in the chaos runs, because a machine that is only busy must take no batch away.
 * The drain is short, and no job counts as stalled.
 */
const SETTINGS = {
  BATCH_HEARTBEAT_INTERVAL_MS: '900',
  COORDINATOR_HEARTBEAT_INTERVAL_MS: '900',
  RECLAIM_TTLS: '{"download": 6000}',
  STATUS_SHARDS: '1',
  RECLAIM_INTERVAL_MS: '1500',
  JOB_STALL_TIMEOUT_MS: '600000',
  SHUTDOWN_TIMEOUT_MS: '6000',
  WORKER_POOL_SIZE: '1',
};
const BATCH_SIZE = 2;
const TERMINAL = ['COMPLETED', 'FAILED', 'CANCELLED'];
/** A finisher that died is replaced only after 60 s. */
export const END_WITHIN_MS = 180_000;
const LOOK_EVERY_MS = 250;

/** The rows of a job as they were at one moment. */
export interface JobRows {
  job: Row | undefined;
  batches: Row[];
}

/**
 * An AWS with one coordinator, for one run after the other: the process that takes over in one run is the one to be killed in the next.
 * That spares half of the starts, which are what a run costs most.
 */
export class Lane {
  /** Multipart uploads of killed processes: the bucket's lifecycle rule is there for them. */
  readonly abandonedUploads = new Set<string>();

  private constructor(
    readonly world: World,
    readonly coordinator: Coordinator,
    private readonly starts: Semaphore,
    private readonly signal: AbortSignal,
  ) {}

  /** @param starts those that may start at the same time */
  static async open(starts: Semaphore, signal: AbortSignal): Promise<Lane> {
    const { queueVisibilityS, heartbeatSeconds: tokenLivesS } = PATIENCE;
    const plan = { seed: 0, batchSize: BATCH_SIZE, clockOffsetsMs: [0], rates: QUIET, tokenLivesS, fixedIds: false };
    const world = await World.create(plan, SETTINGS, queueVisibilityS);
    const [coordinator] = world.coordinators;
    if (coordinator === undefined) throw new Error('A world without a coordinator');
    signal.addEventListener('abort', () => world.abandon(), { once: true });
    return new Lane(world, coordinator, starts, signal);
  }

  /** For another process than the service. */
  get environment(): Record<string, string> {
    return { ...this.world.aws.environment(), ...SETTINGS };
  }

  /** Unless a process runs already. */
  async ensureStarted(): Promise<void> {
    if (this.coordinator.isDown) await this.starts.run(this.signal, () => this.coordinator.ensureStarted());
  }

  async kill(): Promise<void> {
    await this.coordinator.kill();
    const { s3, resources } = this.world.aws;
    for (const { uploadId } of s3.openUploads(resources.bucket)) this.abandonedUploads.add(uploadId);
  }

  /** Watches the service. */
  watch(write: number | undefined): WriteWatch {
    return new WriteWatch(this.coordinator.proxy, write, this.isOfJob, () => this.kill());
  }

  /** Watches another process behind a network of its own. */
  watchOther(proxy: FaultProxy, write: number | undefined, kill: () => Promise<void>): WriteWatch {
    return new WriteWatch(proxy, write, this.isOfJob, kill);
  }

  async stoppedOrEnded(watch: WriteWatch, job: CrashJob): Promise<void> {
    await this.until(async () => watch.stoppedAt !== undefined || (await this.hasEnded(job)));
  }

  async ended(job: CrashJob): Promise<void> {
    await this.until(() => this.hasEnded(job));
  }

  /** @throws when it does not come about */
  async until(isSo: () => boolean | Promise<boolean>, timeoutMs = END_WITHIN_MS): Promise<void> {
    await eventually(isSo, { timeoutMs, intervalMs: LOOK_EVERY_MS });
  }

  /** The row says so, and the token of its last execution is answered. */
  async hasEnded(job: CrashJob): Promise<boolean> {
    const tokens = this.world.aws.stepFunctions.tokens().filter(({ executionArn }) => executionArn === job.executionArn);
    if (tokens.length === 0 || tokens.some(({ closed }) => closed === undefined)) return false;
    const [row] = await rowsOf(this.world, this.world.aws.resources.jobsTable, job.jobId);
    return TERMINAL.includes(String(row?.status));
  }

  async rowsOf({ jobId }: CrashJob): Promise<JobRows> {
    const { jobsTable, batchesTable } = this.world.aws.resources;
    const [[job], batches] = await Promise.all([rowsOf(this.world, jobsTable, jobId), rowsOf(this.world, batchesTable, jobId)]);
    return { job, batches };
  }

  async close(): Promise<void> {
    await this.coordinator.shutDownAll();
    await this.world.close();
  }

  /** A coordinator's own sign of life comes at any time and is of no job. */
  private readonly isOfJob = ({ name }: AwsRequest): boolean => !name.includes(this.world.aws.resources.coordinatorsTable);
}
