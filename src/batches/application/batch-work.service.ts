import { Injectable } from '@nestjs/common';
import { RunBatchUseCase } from './run-batch.use-case.js';
import { TaskDispatcherService } from './task-dispatcher.service.js';
import { WorkSigns, type WorkSign } from './work-signs.js';

export interface BatchWork {
  activeTasks: number;
  activeBatches: number;
  /** The last sign that the work turns; none before the first receive. */
  lastSign: WorkSign | undefined;
}

/** The batch work of this process, as the fleet sees it and may end it. */
@Injectable()
export class BatchWorkService {
  constructor(
    private readonly signs: WorkSigns,
    private readonly dispatcher: TaskDispatcherService,
    private readonly runBatch: RunBatchUseCase,
  ) {}

  /** A wait for a source is no stall, and nothing stamps while it lasts: the question does. */
  report(): BatchWork {
    if (this.dispatcher.waitsForSources) this.signs.note();
    return { activeTasks: this.dispatcher.runningTasks, activeBatches: this.runBatch.held, lastSign: this.signs.last };
  }

  /** Every batch in hand is let go at once; the process goes on receiving. */
  abandon(): void {
    this.runBatch.abandon();
  }
}
