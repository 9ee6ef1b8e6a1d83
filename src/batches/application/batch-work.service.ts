import { Injectable } from '@nestjs/common';
import { MAX_RETRY_AFTER_MS } from '../../worker-pool/index.js';
import { RunBatchUseCase } from './run-batch.use-case.js';
import { TaskDispatcherService } from './task-dispatcher.service.js';
import { WorkSigns, type WorkSign } from './work-signs.js';

export interface BatchWork {
  activeTasks: number;
  activeBatches: number;
  /** The last sign that the work turns, or the present moment while tasks wait for their sources; none before the first receive. */
  lastSign: WorkSign | undefined;
}

/** The batch work of this process, as the fleet sees it and may end it. */
@Injectable()
export class BatchWorkService {
  constructor(
    /** How long a process counts as working after a sign. */
    private readonly settings: { workLimitMs: number },
    private readonly signs: WorkSigns,
    private readonly dispatcher: TaskDispatcherService,
    private readonly runBatch: RunBatchUseCase,
  ) {}

  report(): BatchWork {
    return { activeTasks: this.dispatcher.runningTasks, activeBatches: this.runBatch.held, lastSign: this.lastSign() };
  }

  /** Every batch in hand is let go at once; the process goes on receiving. */
  abandon(): void {
    this.runBatch.abandon();
  }

  /**
   * A wait for a source is no stall, and nothing stamps while it lasts. Each wait begins with a stamp, the end of an attempt: one that
   * goes on for longer than a host may ask for, with no other stamp, is not believed.
   */
  private lastSign(): WorkSign | undefined {
    const { last } = this.signs;
    if (last === undefined || !this.dispatcher.waitsForSources) return last;
    const now = this.signs.now();
    return now.at - last.at <= MAX_RETRY_AFTER_MS + this.settings.workLimitMs ? now : last;
  }
}
