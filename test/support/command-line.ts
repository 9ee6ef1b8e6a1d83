import type { ReclaimTurn } from '../../src/batches/index.js';
import type { ExportJobEntity } from '../../src/export-jobs/index.js';
import type { NeededSetting } from '../../src/config/index.js';
import type { FleetCount } from '../../src/fleet/index.js';
import { runCli } from '../../src/cli/program.js';
import type { Services } from '../../src/cli/services.js';

export const TOKEN = 'AAAAKgAAAAIAAAAAsecret';
export const job: ExportJobEntity = {
  jobId: 'job-1',
  exportId: 'export-1',
  userId: 'user-1',
  status: 'DOWNLOADING',
  run: 1,
  attempt: 1,
  taskToken: TOKEN,
  destination: { bucket: 'bucket', prefix: 'exports/job-1/' },
  tolerance: { count: 0, percentage: 0 },
  requestKey: 'request.json',
  requestHash: 'hash',
  plan: { totalTasks: 10, batchCount: 2, batchSize: 5, segmentPrefix: 'segments/' },
  sentBatches: 2,
  completedTasks: 6,
  failedTasks: 1,
  bytesProcessed: 1_500,
  batchProgress: new Map(),
  endedBatches: new Set(),
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
  lastProgressAt: '2026-01-01T00:00:00.000Z',
};

/** A reclaim turn that looked at all and found nothing. */
export function aTurn(over: Partial<ReclaimTurn> = {}): ReclaimTurn {
  const counts = { running: 0, stale: 0, requeued: 0, givenUp: 0, moved: 0, failed: 0, left: 0 };
  return { beginsLook: true, endsLook: true, ...counts, doubted: false, reclaims: [], ...over };
}

const FLEET: FleetCount = { live: ['coordinator-1', 'coordinator-2'], silent: [] };

interface Sent {
  name: string;
  input: Record<string, unknown>;
}

/** Parts of the service in place of the standing ones. */
export type GivenServices = Partial<Omit<Services, 'jobs'>> & { jobs?: Partial<Services['jobs']> };

/** Runs a command line on these jobs, in a pipe unless a terminal is given; what it sends to AWS is remembered, and answered as `answers` say. */
export async function run(
  args: string[],
  services: GivenServices = {},
  terminal = { isTty: false, columns: 80 },
  answers: Record<string, object> = {},
) {
  const sent: Sent[] = [];
  let [stdout, stderr] = ['', ''];
  let closed = 0;
  let needed: readonly NeededSetting[] = [];
  const send = async (command: { constructor: { name: string }; input: Record<string, unknown> }) => {
    sent.push({ name: command.constructor.name, input: command.input });
    const answer = answers[command.constructor.name];
    if (answer instanceof Error) throw answer;
    return answer ?? { executionArn: 'arn:execution' };
  };
  const open = async (settings: readonly NeededSetting[]): Promise<Services> => {
    needed = settings;
    return allServices();
  };
  const allServices = (): Services => ({
    batches: { list: async () => [] },
    cancelJob: { cancel: async () => 'ended' },
    completeJob: { idle: async () => undefined, stop: async () => undefined },
    reclaim: { runOnce: async () => aTurn(), idle: async () => undefined },
    previewReclaim: { list: async () => ({ watchMs: 40_000, batches: [] }) },
    reclaims: { ofJob: async () => [], recent: async () => [] },
    staleMonitor: { list: async () => ({ counts: { healthy: 0, late: 0, stale: 0 }, batches: [] }) },
    validateLeases: { list: async () => [] },
    stuckFinishes: { list: async () => [] },
    fleet: { look: async () => FLEET, watch: async () => FLEET },
    reopenJob: { reopen: async () => undefined },
    results: { loadRequest: async () => '' },
    jobsQueue: { send: async () => undefined },
    reclaimIntervalMs: 15_000,
    batchHeartbeatIntervalMs: 10_000,
    clients: { s3: { send }, stepFunctions: { send } } as unknown as Services['clients'],
    settings: {
      bucket: 'bucket',
      stateMachineArn: 'arn:machine',
      retentionDays: 30,
      batchSize: 100,
      intakeConcurrency: 4,
      maxOpenLists: 128,
      maxSpoolBytes: 6 * 2 ** 30,
    },
    close: async () => void closed++,
    ...services,
    jobs: {
      find: async (jobId) => (jobId === job.jobId ? job : undefined),
      list: async () => [job],
      scan: async function* () {},
      ...services.jobs,
    },
  });
  const out = { ...terminal, write: (text: string) => void (stdout += text) };
  const err = { ...terminal, write: (text: string) => void (stderr += text) };
  const exitCode = await runCli(args, { out, err }, open);
  return { exitCode, stdout, stderr, sent, closed, needed };
}
