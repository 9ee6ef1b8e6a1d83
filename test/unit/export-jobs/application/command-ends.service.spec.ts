import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { CompleteJobUseCase } from '../../../../src/export-jobs/application/complete-job.use-case.js';
import { CancelJobUseCase } from '../../../../src/export-jobs/application/cancel-job.use-case.js';
import type { HeartbeatOrchestratorService } from '../../../../src/export-jobs/application/heartbeat-orchestrator.service.js';
import { Metrics } from '../../../../src/shared/index.js';
import { onEachClock } from '../../../support/each-clock.js';
import { settled } from '../../../support/fake-clock.js';
import { aJobNamed, anOrchestrator } from '../../../support/orchestrator.js';

/** As in a command. */
class NoMetrics extends Metrics {
  override readonly isCollected = false;
  increment(): void {}
  gauge(): void {}
  observe(): void {}
}

let f: ReturnType<typeof anOrchestrator>;
let orchestrator: HeartbeatOrchestratorService;
beforeEach(() => {
  f = anOrchestrator();
  orchestrator = f.create();
  f.jobs.put(aJobNamed('a'));
});
afterEach(() => orchestrator.stop());

const turn = async (of = orchestrator) => {
  const running = of.triggerHeartbeat();
  await f.clock.advance(1_500);
  await running;
  await settled();
};
const cancelByCommand = async () => {
  const metrics = new NoMetrics();
  const completeJob = new CompleteJobUseCase(f.jobs, f.batches, f.results, f.settler, f.clock, f.logger, metrics);
  await new CancelJobUseCase(f.jobs, f.batches, completeJob, f.logger, metrics).cancel('a', 'enough');
  expect(f.jobs.get('a')).toMatchObject({ status: 'CANCELLED', uncounted: true });
};
const counted = () => f.metrics.increments.filter(({ name }) => name === 'jobs_total').map(({ labels }) => labels.status);
const told = () => f.logger.events.filter(({ message }) => message.startsWith('Job ended'));

onEachClock('a job that a command has ended', () => {
  it('is counted once and told by the coordinator that beat it', async () => {
    await turn();
    await cancelByCommand();
    expect([counted(), told()]).toEqual([[], []]);
    await turn();
    await turn();
    expect(counted()).toEqual(['CANCELLED']);
    expect(told()).toMatchObject([{ level: 'info', fields: { jobId: 'a', by: 'command' } }]);
    expect(f.jobs.get('a')).not.toHaveProperty('uncounted');
  });

  it('is counted once when two coordinators take it for theirs', async () => {
    const another = f.create();
    await turn();
    await turn(another);
    await cancelByCommand();
    await Promise.all([turn(), turn(another)]);
    expect(counted()).toEqual(['CANCELLED']);
    await another.stop();
  });

  it('is counted although it was accepted and ended between two looks', async () => {
    const heartbeats = f.createHeartbeats();
    orchestrator = f.create({ heartbeats });
    f.jobs.rows.delete('a');
    await turn();
    const job = aJobNamed('a');
    await heartbeats.beatNow(job);
    await turn();
    f.jobs.put(job);
    await cancelByCommand();
    await f.clock.advance(60_000);
    await turn();
    await turn();
    expect(counted()).toEqual(['CANCELLED']);
  });

  it('is counted by the next turn when its row could not be read', async () => {
    await turn();
    await cancelByCommand();
    // The first read is of the turn's own jobs.
    f.gate.next('findMany', () => undefined, 'unavailable');
    await turn();
    await turn();
    expect(counted()).toEqual(['CANCELLED']);
  });

  it('is nobody’s to count that has another coordinator', async () => {
    const other = f.create({ fleet: { self: 'me', list: () => ['other'], someoneWorks: () => true } });
    await turn(other);
    await cancelByCommand();
    await turn(other);
    expect(counted()).toEqual([]);
    await other.stop();
  });
});

onEachClock('a job that a coordinator has ended', () => {
  it('is counted by that one alone', async () => {
    await turn();
    await f.cancelJob.cancel('a', 'enough');
    await turn();
    await turn();
    expect(counted()).toEqual(['CANCELLED']);
    expect(f.jobs.get('a')).not.toHaveProperty('uncounted');
  });

  it('is looked for again when the index has only lagged', async () => {
    await turn();
    const active = f.jobs.get('a');
    f.gate.next('listActive', () => void f.jobs.rows.delete('a'));
    f.gate.next('findMany', () => void f.jobs.put(active));
    await turn();
    await cancelByCommand();
    await turn();
    await turn();
    expect(counted()).toEqual(['CANCELLED']);
  });
});
