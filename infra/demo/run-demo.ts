import { ProgressDisplay, type ProgressOutput } from '../../src/cli/index.js';
import { startLocalAws, type LocalAws } from '../local-aws/local-aws.js';
import { checkExport, type Check } from './checks.js';
import { createDemoClients, type DemoClients } from './demo-clients.js';
import { gatherEvidence, type Evidence } from './evidence.js';
import { ExportRun } from './export-run.js';
import { arrangeFault, faultAtTheEnd, faultEnvironment, type Fault } from './faults.js';
import { checkSamples } from './sample-checks.js';
import { sampleFiles } from './sample-files.js';
import { SampleOrigin } from './sample-origin.js';
import { ServiceProcess } from './service-process.js';

/**
 * Short, so that heartbeats matter within the demo: the service beats five times in it, the trickle
 * lasts longer.
 */
const HEARTBEAT_SECONDS = 10;
const HEARTBEAT_INTERVAL_MS = 2_000;
const TRICKLE_MS = 11_000;
/** The demo's own files take some 15 s. */
const TIMEOUT_SECONDS = 120;

export interface DemoOptions {
  /** A manifest; default: that of the demo's own files. */
  list?: Uint8Array;
  fault?: Fault;
  serviceLog: string;
}

export interface DemoReport {
  jobId: string;
  bucket: string;
  prefix: string;
  evidence: Evidence;
  checks: Check[];
  /** Only the demo's own origin counts them. */
  retries: number | undefined;
  mainLoopDelayP99Ms: number;
}

/**
 * Starts everything, runs one export, looks at it from outside, and ends everything again, whatever happens.
 * @throws DemoError; AbortError when interrupted
 */
export async function runDemo(options: DemoOptions, output: ProgressOutput, signal: AbortSignal): Promise<DemoReport> {
  const cleanups: (() => Promise<void> | void)[] = [];
  try {
    const samples = options.list === undefined;
    const aws = await startLocalAws({
      stateMachine: { heartbeatSeconds: HEARTBEAT_SECONDS, maxAttempts: 0, ...(samples ? { timeoutSeconds: TIMEOUT_SECONDS } : {}) },
    });
    cleanups.push(() => aws.close());
    const clients = createDemoClients(aws);
    cleanups.push(() => clients.destroy());
    const origin = samples ? await SampleOrigin.start(sampleFiles(), { trickleMs: TRICKLE_MS }) : undefined;
    if (origin !== undefined) cleanups.push(() => origin.close());
    output.write(`An embedded AWS${samples ? ' and a source of files are' : ' is'} running; starting the service …\n`);
    const service = await ServiceProcess.launch(serviceEnvironment(aws, options.fault), options.serviceLog);
    cleanups.push(() => service.kill());
    await service.ready(signal);
    arrangeFault(options.fault, aws);
    return await exportAndCheck({ aws, clients, service, origin }, options.list ?? origin?.manifest ?? '', options, output, signal);
  } finally {
    for (const clean of cleanups.toReversed()) await clean();
  }
}

interface Stage {
  aws: LocalAws;
  clients: DemoClients;
  service: ServiceProcess;
  origin: SampleOrigin | undefined;
}

async function exportAndCheck(
  { aws, clients, service, origin }: Stage,
  list: Uint8Array | string,
  { fault }: DemoOptions,
  output: ProgressOutput,
  signal: AbortSignal,
): Promise<DemoReport> {
  const run = await ExportRun.start(clients, aws.resources, list, { toleratedFailureCount: origin === undefined ? 0 : 1 });
  output.write(`Execution ${run.jobId} of the state machine has started.\n`);
  const display = new ProgressDisplay(output);
  const look = async (progress: Parameters<ProgressDisplay['show']>[0]) => {
    display.show(progress);
    await service.refuseEnded();
  };
  const execution = await run.ended(look, signal).finally(() => display.end());
  await faultAtTheEnd(fault, aws, clients);

  output.write('Checking the result from outside …\n');
  const evidence = await gatherEvidence(aws, clients, run, execution, signal);
  const mainLoopDelayP99Ms = await service.mainLoopDelayP99Ms(signal);
  const exitCode = await service.stop();
  const checks = [
    ...checkExport(evidence),
    ...(origin === undefined ? [] : checkSamples(evidence, origin, { prefix: run.prefix, heartbeatSeconds: HEARTBEAT_SECONDS })),
    { name: 'shutdown', problems: exitCode === 0 ? [] : [`the service ended with exit code ${exitCode} after SIGTERM`] },
  ];
  const { jobId, prefix } = run;
  return { jobId, bucket: aws.resources.bucket, prefix, evidence, checks, retries: origin?.retries, mainLoopDelayP99Ms };
}

/** Where AWS is, a little haste, and which private sources are allowed: no other setting of the caller's shell reaches the service. */
function serviceEnvironment(aws: LocalAws, fault: Fault | undefined): Record<string, string> {
  return {
    ...aws.environment(),
    HOST: '127.0.0.1',
    PORT: '0',
    WORKER_POOL_SIZE: '2',
    BATCH_SIZE: '10',
    BATCH_HEARTBEAT_INTERVAL_MS: '1000',
    STEP_FUNCTIONS_HEARTBEAT_INTERVAL_MS: String(HEARTBEAT_INTERVAL_MS),
    ...faultEnvironment(fault),
  };
}
