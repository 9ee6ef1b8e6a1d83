import { CommandEndsService } from '../../src/export-jobs/application/command-ends.service.js';
import { HeartbeatOrchestratorService } from '../../src/export-jobs/application/heartbeat-orchestrator.service.js';
import { JobCareService } from '../../src/export-jobs/application/job-care.service.js';
import type { LiveCoordinatorsPort } from '../../src/export-jobs/application/live-coordinators.port.js';
import { RepairJobUseCase } from '../../src/export-jobs/application/repair-job.use-case.js';
import { TaskHeartbeatService } from '../../src/export-jobs/application/task-heartbeat.service.js';
import type { ExportJobEntity } from '../../src/export-jobs/domain/export-job.entity.js';
import { aJob } from './builders.js';
import { aFinisher } from './finisher.js';
import { aJobWindow } from './job-window.js';

export const INTERVAL_MS = 30_000;
export const REPAIR_AFTER_MS = 120_000;
export const STALL_TIMEOUT_MS = 600_000;

interface Options {
  heartbeatEnabled?: boolean;
  maxBeatsPerSecond?: number;
  fleet?: LiveCoordinatorsPort;
  /** That of the intake, which hands accepted jobs over. */
  heartbeats?: TaskHeartbeatService;
}

/**
 * As `aFinisher`, with what beats and repairs jobs; `create()` is another orchestrator on the same
 * fakes, which knows the coordinators that `fleet` names.
 */
export function anOrchestrator() {
  const finisher = aFinisher();
  const { batches, cancelJob, clock, completeJob, gate, jobs, logger, metrics, stepFunctions } = finisher;
  const { coordinators, counter, topUpJob, window } = aJobWindow({ jobs, jobBatches: batches, logger });

  const createHeartbeats = (maxBeatsPerSecond = 1_000) =>
    new TaskHeartbeatService({ maxBeatsPerSecond }, stepFunctions, jobs, cancelJob, clock, logger, metrics);
  const create = ({
    heartbeatEnabled = true,
    maxBeatsPerSecond = 1_000,
    fleet = coordinators,
    heartbeats = createHeartbeats(maxBeatsPerSecond),
  }: Options = {}): HeartbeatOrchestratorService => {
    const limits = { repairAfterMs: REPAIR_AFTER_MS, stallTimeoutMs: STALL_TIMEOUT_MS };
    const settings = { heartbeatEnabled, heartbeatIntervalMs: INTERVAL_MS, ...limits };
    const services = { batches, coordinators: fleet, counter, completeJob, clock, logger, metrics };
    const care = new JobCareService(
      completeJob,
      new RepairJobUseCase(limits, services),
      topUpJob,
      new CommandEndsService(jobs, logger, metrics),
      logger,
    );
    return new HeartbeatOrchestratorService(settings, jobs, fleet, heartbeats, care, window, clock, logger, metrics);
  };

  /** When each token was beaten, in monotonic milliseconds. */
  const beats = new Map<string, number[]>();
  const send = stepFunctions.sendHeartbeat.bind(stepFunctions);
  stepFunctions.sendHeartbeat = (token) => {
    beats.set(token, [...(beats.get(token) ?? []), clock.monotonicMs()]);
    return send(token);
  };
  /** Of the job that `aJobNamed` so. */
  const beatsOf = (name: string) => beats.get(tokenOf(name)) ?? [];
  const turns = () => gate.calls.filter((call) => call === 'listActive').length;
  return { ...finisher, coordinators, topUpJob, window, create, createHeartbeats, beats, beatsOf, turns };
}

export function aJobNamed(name: string, over: Partial<ExportJobEntity> = {}): ExportJobEntity {
  return aJob({ jobId: name, taskToken: tokenOf(name), ...over });
}

export function tokenOf(name: string): string {
  return `token of ${name}`;
}
