import {
  segmentKey,
  segmentPrefix,
  type ExpansionPlan,
  type ExportJobEntity,
  type JobStateRepositoryPort,
} from '../../export-jobs/index.js';
import { AppError, isoIn, isRejected, newId, type AppLogger, type Clock } from '../../shared/index.js';
import { batchSizeFor, type ExportRequest } from '../domain/export-request.js';
import { listHost } from '../domain/list-host.js';
import type { ManifestTask } from '../domain/manifest-task.js';
import { insistAfter } from './despite-refusals.js';
import type { ExpansionProgress } from './expansion-progress.js';
import type { ExpansionTurn, ExpansionTurns } from './expansion-turns.js';
import { interrupted } from './interrupted.js';
import { JobSetback, setbackOfWrite } from './job-setback.js';
import type { ManifestPort, ManifestReading, SpooledManifest } from './manifest.port.js';
import type { OpenLists } from './open-lists.js';
import type { SegmentWriterPort } from './segment-writer.port.js';

/** Code of the error that says that the sender's manifest cannot be used; its cause says why. */
export const MANIFEST_REJECTED = 'MANIFEST_REJECTED';

/** Segments written at the same time: they are one unit of work. */
const SEGMENTS_AT_ONCE = 4;

export interface PlanningPorts {
  jobs: JobStateRepositoryPort;
  manifests: ManifestPort;
  segments: SegmentWriterPort;
  clock: Clock;
}

/** What the expansions of this process share. */
export interface IntakeCapacity {
  turns: ExpansionTurns;
  lists: OpenLists;
}

/** One expansion: its signal also ends when its job is over. */
export interface Expansion {
  job: ExportJobEntity;
  request: ExportRequest;
  progress: ExpansionProgress;
  signal: AbortSignal;
}

/** A job that waits for its list to be opened, and may leave for another coordinator. */
export interface Leaving {
  /** In the line, from 1. */
  place: number;
  /** To be called before it leaves; false: it is over, and need not. */
  stamp: () => Promise<boolean>;
}

/** True: another coordinator has the job now. */
export type Leave = (leaving: Leaving) => Promise<boolean>;

/**
 * The manifest is read to its end and spooled; segments go to S3 under a random prefix; then one
 * write with one winner records totals, batch size and that prefix. A loser goes on with the
 * winner's plan and leaves its own segments behind.
 */
export class PlanExpansionUseCase {
  constructor(
    private readonly ports: PlanningPorts,
    private readonly capacity: IntakeCapacity,
    private readonly settings: { batchSize: number },
    private readonly logger: AppLogger,
  ) {}

  /**
   * The job with our plan. `undefined` when another plan is recorded, the job is not to be expanded
   * any more, or it has left for another coordinator.
   * @param leave asked while the list waits to be opened
   */
  async plan(expansion: Expansion, leave: Leave): Promise<ExportJobEntity | undefined> {
    const { request, progress, signal } = expansion;
    const { turns, lists } = this.capacity;
    const work = () => turns.run(signal, progress, (turn) => this.planWith(turn, expansion));
    const { source } = request;
    // Its files came with the message: there is nothing to open.
    if (source.kind === 'files') return work();
    const host = listHost(source.uri);
    const mayLeave = (place: number) => leave({ place, stamp: () => progress.stamp() });
    if (!(await progress.whileInLine(lists.enter(host, signal, mayLeave)))) return undefined;
    try {
      return await work();
    } finally {
      lists.exit(host);
    }
  }

  private async planWith(turn: ExpansionTurn, expansion: Expansion): Promise<ExportJobEntity | undefined> {
    const { job } = expansion;
    const manifest = await this.spool(turn, expansion);
    try {
      const plan = await this.writeSegments(turn, expansion, manifest);
      const recorded = await this.ports.jobs.recordPlan(job.jobId, job.run, plan);
      if (recorded.kind !== 'written') return undefined;
      const { totalTasks, batchCount: batches, batchSize } = plan;
      this.logger.info('Job expanded', { jobId: job.jobId, totalTasks, batches, batchSize, ...repeatedOf(manifest) });
      return recorded.job;
    } finally {
      await manifest.dispose();
    }
  }

  /** What is at fault here is the sender's manifest, and nothing later on is. */
  private async spool(turn: ExpansionTurn, { job, request, progress, signal }: Expansion): Promise<SpooledManifest> {
    const onProgress: ManifestReading['onProgress'] = (wait) => {
      progress.moved();
      if (wait !== undefined) this.tellWait(job, wait);
    };
    try {
      return await this.ports.manifests.spool(request, { signal, turn, onProgress });
    } catch (cause) {
      if (signal.aborted) throw cause;
      if (!isRejected(cause)) throw new JobSetback(cause);
      throw new AppError(MANIFEST_REJECTED, cause.message, { disposition: 'reject', cause });
    }
  }

  private tellWait({ jobId }: ExportJobEntity, { host, forMs }: { host: string; forMs: number }): void {
    const until = isoIn(this.ports.clock, forMs);
    this.logger.info('The host of a list asks for patience: the list is asked for again then', { jobId, host, until, forS: forMs / 1_000 });
  }

  private async writeSegments(turn: ExpansionTurn, expansion: Expansion, manifest: SpooledManifest): Promise<ExpansionPlan> {
    const { job, progress, signal } = expansion;
    const { totalTasks } = manifest;
    const batchSize = batchSizeFor(totalTasks, this.settings.batchSize);
    const prefix = segmentPrefix(job.destination, job.jobId, newId());
    let batchCount = 0;
    let writing: Promise<void>[] = [];
    for await (const batch of inBatches(manifest.tasks(), batchSize)) {
      if (signal.aborted) throw interrupted();
      const batchNo = batchCount++;
      const at = { key: segmentKey(prefix, batchNo), batchNo, firstIndex: batchNo * batchSize };
      const write = this.writeSegment(turn, expansion, at, batch);
      // It is awaited a few segments later, and must not count as unhandled until then.
      write.catch(() => undefined);
      writing.push(write);
      if (writing.length < SEGMENTS_AT_ONCE) continue;
      await Promise.all(writing);
      writing = [];
      progress.moved();
      await turn.yield();
    }
    await Promise.all(writing);
    return { totalTasks, batchCount, batchSize, segmentPrefix: prefix, ...repeatedOf(manifest) };
  }

  private async writeSegment(
    turn: ExpansionTurn,
    { request, signal }: Expansion,
    at: Parameters<SegmentWriterPort['write']>[1],
    batch: readonly ManifestTask[],
  ): Promise<void> {
    const { segments, clock } = this.ports;
    const write = async () => {
      try {
        await segments.write(request, at, batch);
      } catch (error) {
        throw setbackOfWrite(error, signal);
      }
    };
    // A bucket that refuses keeps no place from others while it is given time.
    const wait = (ms: number) => turn.whileWaiting(() => clock.sleep(ms, signal));
    await write().catch((error: unknown) => insistAfter(error, write, wait));
  }
}

function repeatedOf({ repeatedTasks }: SpooledManifest): { repeatedTasks?: number } {
  return repeatedTasks === 0 ? {} : { repeatedTasks };
}

async function* inBatches(tasks: AsyncIterable<ManifestTask>, size: number): AsyncIterable<ManifestTask[]> {
  let batch: ManifestTask[] = [];
  for await (const task of tasks) {
    batch.push(task);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
