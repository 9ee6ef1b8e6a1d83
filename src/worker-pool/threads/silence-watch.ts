import type { FromThreadMessage } from '../protocol/thread-messages.schema.js';
import type { SourceWait } from './transfer-signs.js';

const TICK_MS = 500;
/** Four whole intervals, and the one in which the wait began. */
const SILENT_TICKS = 5;

/**
 * Tells which tasks wait for a source that has sent nothing for 2 s. One interval looks at all tasks of the thread, so a file costs no timer.
 * Ticks are counted, not timed: a thread that was busy for seconds has answers to read, and must not take its sources for silent.
 */
export class SilenceWatch {
  private readonly waits = new Set<TaskWait>();
  private ticks = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly send: (message: FromThreadMessage) => void) {}

  /** For one task, until `end`. */
  of(taskId: string): TaskWait {
    const wait = new TaskWait(taskId, () => this.ticks, this.send);
    this.waits.add(wait);
    this.timer ??= setInterval(() => this.tick(), TICK_MS).unref();
    return wait;
  }

  /** Nothing more is told of this task. */
  end(wait: TaskWait): void {
    this.waits.delete(wait);
    if (this.waits.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }

  private tick(): void {
    this.ticks += 1;
    for (const wait of this.waits) wait.look();
  }
}

class TaskWait implements SourceWait {
  /** The tick at which the wait began. */
  private since: number | undefined;
  private isSilent = false;

  constructor(
    private readonly taskId: string,
    private readonly ticks: () => number,
    private readonly send: (message: FromThreadMessage) => void,
  ) {}

  begin(): void {
    this.since ??= this.ticks();
  }

  heard(): void {
    this.since = undefined;
    if (!this.isSilent) return;
    this.isSilent = false;
    this.send({ type: 'TASK_HEARD', payload: { taskId: this.taskId } });
  }

  look(): void {
    if (this.isSilent || this.since === undefined || this.ticks() - this.since < SILENT_TICKS) return;
    this.isSilent = true;
    this.send({ type: 'TASK_SILENT', payload: { taskId: this.taskId } });
  }
}
