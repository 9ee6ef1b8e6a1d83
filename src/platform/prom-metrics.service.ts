import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { Metrics, type MetricLabels } from '../shared/index.js';
import { LoopDelay } from './loop-delay.js';

/** Every metric of the service: its name, what it says, and its labels (small closed sets, never ids). */
const COUNTERS = {
  heartbeat_sent_total: ['Task heartbeats sent and answered: those accepted and those not accepted together', []],
  heartbeat_success_total: ['Task heartbeats accepted', []],
  heartbeat_failure_total: ['Task heartbeats not accepted', ['reason']],
  stepfunctions_timeout_total: ['Dead tokens whose last accepted heartbeat was older than HeartbeatSeconds', []],
  executions_gone_total: ['Jobs whose execution was found gone', []],
  settle_failure_total: ['Answers that Step Functions did not take for a task token', ['reason']],
  jobs_total: ['Jobs that ended, by commands, too', ['status']],
  jobs_stalled_total: ['Jobs given up because nothing of them moved', []],
  tasks_total: ['Tasks that ended here; after a cancel, or under a lost lease, more than jobs count', ['outcome', 'code']],
  task_tries_total: ['Tries of tasks, retries included', ['outcome', 'code']],
  messages_refused_total: [
    'Job messages that cannot become jobs, by what refuses them: their own words, or settings of this service',
    ['by'],
  ],
  bytes_total: ['Bytes of files that have arrived here, those of tries that failed, too', []],
  coordinator_heartbeats_total: ['Heartbeats of this coordinator to the fleet', ['outcome']],
  batches_reclaimed_total: ['Stale batches taken from their holders', ['type', 'outcome']],
  sqs_visibility_heartbeats_total: ['Visibility heartbeats', ['outcome']],
  worker_pool_restarts_total: ['Threads replaced', []],
} as const;

const GAUGES = {
  jobs_active_with_token: ['Active jobs of this coordinator that have a task token', []],
  jobs_active_without_token: ['Active jobs of this coordinator without a task token', []],
  batches_running: ['Batches in hand', []],
  batches_overdue: ['Running batches of the fleet that were silent for more than their TTL and a minute: must be 0', []],
  source_hosts_paused: ['Hosts that asked for patience and that tasks in hand wait for', []],
  tasks_awaiting_lone_thread: ['Tasks that wait to run alone, because threads died with them', []],
  worker_pool_threads: ['Threads that are ready', []],
  worker_pool_busy: ['Transfers in hand', []],
  worker_pool_reading: ['Sources being read that send', []],
  worker_pool_silent: ['Sources that have sent nothing for 2 s although they were asked', []],
  worker_pool_awaiting_memory: ['Transfers whose source is not read on because they wait for memory', []],
  worker_pool_queued: ['Transfers waiting for a thread that is ready', []],
} as const;

const HISTOGRAMS = {
  heartbeat_duration_seconds: ['Duration of a task heartbeat call', []],
  heartbeat_lateness_seconds: ['Time between a heartbeat slot and its sending', []],
  task_duration_seconds: ['Duration of a task with its retries', []],
} as const;

const BUCKETS_S = [0.005, 0.025, 0.1, 0.25, 1, 2.5, 10, 60, 300, 1_800];

/** The Prometheus registry behind `Metrics`, and the main loop's delay. */
export class PromMetricsService extends Metrics {
  private readonly registry = new Registry();
  private readonly counters = new Map<string, Counter>();
  private readonly gauges = new Map<string, Gauge>();
  private readonly histograms = new Map<string, Histogram>();

  constructor(loopDelay = new LoopDelay()) {
    super();
    const registers = [this.registry];
    for (const [name, [help, labelNames]] of Object.entries(COUNTERS))
      this.counters.set(name, new Counter({ name, help, labelNames, registers }));
    for (const [name, [help, labelNames]] of Object.entries(GAUGES))
      this.gauges.set(name, new Gauge({ name, help, labelNames, registers }));
    for (const [name, [help, labelNames]] of Object.entries(HISTOGRAMS))
      this.histograms.set(name, new Histogram({ name, help, labelNames, buckets: BUCKETS_S, registers }));
    const quantiles = ['0.5', '0.99'];
    const loopLag = new Gauge({
      name: 'event_loop_lag_seconds',
      help: 'Delay of the main loop since the last collection',
      labelNames: ['quantile'],
      registers,
      collect: () => {
        const delaysMs = loopDelay.read(...quantiles.map((quantile) => Number(quantile) * 100));
        for (const [index, quantile] of quantiles.entries()) loopLag.set({ quantile }, (delaysMs[index] ?? 0) / 1_000);
      },
    });
  }

  increment(name: string, labels: MetricLabels = {}, by = 1): void {
    known(this.counters, name).inc(labels, by);
  }

  gauge(name: string, value: number, labels: MetricLabels = {}): void {
    known(this.gauges, name).set(labels, value);
  }

  observe(name: string, value: number, labels: MetricLabels = {}): void {
    known(this.histograms, name).observe(labels, value);
  }

  /** Prometheus' text format. */
  expose(): Promise<string> {
    return this.registry.metrics();
  }
}

function known<M>(metrics: ReadonlyMap<string, M>, name: string): M {
  const metric = metrics.get(name);
  if (metric === undefined) throw new Error(`Metric ${name} is not declared in prom-metrics.service.ts`);
  return metric;
}
