import { Injectable } from '@nestjs/common';
import { Clock } from '../../shared/index.js';
import { FINALIZING_STUCK_MS } from '../domain/decide-heartbeat.js';
import type { ExportJobEntity } from '../domain/export-job.entity.js';
import { JobStateRepositoryPort } from './job-state-repository.port.js';

/** Answered within seconds, or by whoever takes a dead finisher's job over after a minute: a job that takes longer has something in its way. */
const SUSPECT_MS = 3 * FINALIZING_STUCK_MS;
const MAX_JOBS = 1_000;

/**
 * Jobs that have been FINALIZING for minutes: their tokens wait for an answer, and something keeps it back. Stored times find the suspects,
 * and those that are not answered within a minute of this process's own clock are listed, because hosts' clocks differ.
 */
@Injectable()
export class StuckFinishesQuery {
  constructor(
    private readonly jobs: JobStateRepositoryPort,
    private readonly clock: Clock,
  ) {}

  async list(): Promise<ExportJobEntity[]> {
    const nowMs = Date.parse(this.clock.nowIso());
    const suspects = (await this.jobs.list(['FINALIZING'], MAX_JOBS)).filter(
      ({ outcome }) => nowMs - Date.parse(outcome?.decidedAt ?? '') > SUSPECT_MS,
    );
    if (suspects.length === 0) return [];
    await this.clock.sleep(FINALIZING_STUCK_MS);
    const runs = new Map(suspects.map(({ jobId, run }) => [jobId, run]));
    const now = await this.jobs.findMany([...runs.keys()]);
    return now.filter(({ jobId, run, status }) => status === 'FINALIZING' && runs.get(jobId) === run);
  }
}
