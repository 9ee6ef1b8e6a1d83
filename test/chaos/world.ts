import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startLocalAws, type LocalAws } from '../../infra/local-aws/local-aws.js';
import { createAwsClients, type AwsClients } from '../support/local-aws.js';
import { Origin } from '../support/origin.js';
import type { AwsRequest } from './aws-request.js';
import { Coordinator, SHUTDOWN_TIMEOUT_MS } from './coordinator.js';
import { FaultProxy, type ProxyFault } from './fault-proxy.js';
import type { FaultRates, RunPlan } from './plan.js';
import { SeededRandom } from './random.js';
import { RequestLimit } from './request-limit.js';

/** Short times, so that a death is noticed within seconds; the relations between them are those of the defaults. */
const ENVIRONMENT = {
  BATCH_HEARTBEAT_INTERVAL_MS: '300',
  RECLAIM_TTLS: '{"download": 2000}',
  RECLAIM_INTERVAL_MS: '500',
  STEP_FUNCTIONS_HEARTBEAT_INTERVAL_MS: '1000',
  COORDINATOR_HEARTBEAT_INTERVAL_MS: '300',
  SQS_HEARTBEAT_INTERVAL_MS: '1000',
  JOB_REPAIR_AFTER_MS: '2000',
  JOB_STALL_TIMEOUT_MS: '60000',
  SHUTDOWN_TIMEOUT_MS: String(SHUTDOWN_TIMEOUT_MS),
  WORKER_POOL_SIZE: '2',
  TASKS_PER_WORKER: '4',
  MAX_BATCHES_IN_HAND: '3',
  // The source's faults pass after two tries; those of the network must not use up what is left.
  TASK_MAX_ATTEMPTS: '8',
};
/** No plan kills the fleet as often as this. */
const RETRIES = { retryIntervalSeconds: 1, maxAttempts: 8 };
/** A message that died with its receiver comes back after this. */
const QUEUE_VISIBILITY_S = 3;
const DELAY_MS = { from: 50, to: 1_000 };

/** What of a plan is the world's. */
export type WorldPlan = Pick<RunPlan, 'seed' | 'batchSize' | 'clockOffsetsMs' | 'rates' | 'tokenLivesS' | 'fixedIds' | 'requestsPerSecond'>;

/** An AWS, a source of files and a fleet of coordinators of one run, each coordinator behind a network of its own. */
export class World {
  private constructor(
    readonly aws: LocalAws,
    readonly clients: AwsClients,
    readonly origin: Origin,
    /** Of the origin, for the files of all jobs together. */
    readonly limit: RequestLimit,
    readonly coordinators: readonly Coordinator[],
    private readonly folder: string,
  ) {}

  /**
   * Everything but the service's processes.
   * @param settings of the service, in place of those above
   */
  static async create(plan: WorldPlan, settings: Record<string, string> = {}, queueVisibilityS = QUEUE_VISIBILITY_S): Promise<World> {
    const stateMachine = { ...RETRIES, heartbeatSeconds: plan.tokenLivesS };
    const aws = await startLocalAws({ queueVisibilityS, stateMachine });
    const folder = await mkdtemp(join(tmpdir(), 'chaos-'));
    const environment = {
      ...aws.environment(),
      ...ENVIRONMENT,
      BATCH_SIZE: String(plan.batchSize),
      STATE_MACHINE_HEARTBEAT_S: String(plan.tokenLivesS),
      ...settings,
    };
    const coordinators = plan.clockOffsetsMs.map(async (offsetMs, number) => {
      const proxy = await FaultProxy.start(aws.endpoints);
      proxy.chance = noise(plan.rates, new SeededRandom(plan.seed, `network ${number}`));
      const id: Record<string, string> = plan.fixedIds ? { COORDINATOR_ID: `chaos-${number}` } : {};
      return new Coordinator(number, proxy, { ...environment, ...id }, join(folder, `clock-${number}`), offsetMs);
    });
    const limit = new RequestLimit(plan.requestsPerSecond);
    return new World(aws, createAwsClients(aws.environment()), await Origin.start(), limit, await Promise.all(coordinators), folder);
  }

  get processes() {
    return this.coordinators.flatMap(({ processes }) => processes);
  }

  /** The network is whole again; what it still holds back comes. */
  calm(): void {
    for (const { proxy } of this.coordinators) proxy.calm();
  }

  /** For when the suite itself ends early: leaves no process behind, waits for nothing. */
  abandon(): void {
    for (const coordinator of this.coordinators) coordinator.abandon();
  }

  async close(): Promise<void> {
    await Promise.all(this.coordinators.map((coordinator) => coordinator.kill()));
    await Promise.all(this.coordinators.map(({ proxy }) => proxy.close()));
    this.clients.destroy();
    await this.origin.close();
    await this.aws.close();
    await rm(this.folder, { recursive: true });
  }
}

function noise(rates: FaultRates, random: SeededRandom): (request: AwsRequest) => ProxyFault | undefined {
  return ({ operation, write }) => {
    const kind = random.weighted(rates);
    switch (kind) {
      case 'delay':
        return { kind, ms: random.integer(DELAY_MS.from, DELAY_MS.to) };
      case 'hold-back':
        return write ? { kind } : undefined;
      case 'swallow':
        return operation === 'DeleteMessage' ? { kind } : undefined;
      case 'drop-reply':
      case 'throttle':
      case 'cut':
        return { kind };
      case undefined:
        return undefined;
    }
  };
}
