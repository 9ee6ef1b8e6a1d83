import { counted } from '../../shared/index.js';
import { isTerminal, type ExportJobEntity, type FailureTolerance, type JobError } from './export-job.entity.js';

/** The numbers of a job at one instant, and what follows from them alone. */
export class JobStateVO {
  private constructor(
    readonly totalTasks: number | undefined,
    readonly completedTasks: number,
    readonly failedTasks: number,
    private readonly tolerance: FailureTolerance,
    private readonly failFast: boolean,
    readonly ended: boolean,
  ) {}

  static of(job: ExportJobEntity): JobStateVO {
    return new JobStateVO(
      job.plan?.totalTasks,
      job.completedTasks,
      job.failedTasks,
      job.tolerance,
      job.failFast === true,
      isTerminal(job.status),
    );
  }

  /** Every task is counted: nothing is left to run. */
  get addsUp(): boolean {
    return this.totalTasks !== undefined && this.completedTasks + this.failedTasks === this.totalTasks;
  }

  /** Its failures exceed a bound, which no later count can mend, and it was asked to end by that. */
  get failsEarly(): boolean {
    return this.failFast && this.totalTasks !== undefined && !this.addsUp && !this.toleratesItsFailures;
  }

  /** What is left to count, if anything, changes nothing about how it ends. */
  get isDecided(): boolean {
    return this.addsUp || this.failsEarly;
  }

  /** `47/100 (47%)`; the total is `?` until the manifest has been read. */
  get progress(): string {
    const done = this.completedTasks + this.failedTasks;
    if (this.totalTasks === undefined) return `${done}/?`;
    const percent = this.totalTasks === 0 ? 100 : Math.floor((done * 100) / this.totalTasks);
    return `${done}/${this.totalTasks} (${percent}%)`;
  }

  /** Within each bound that was given, as with a Distributed Map's tolerated failures; with none given: no failures. */
  get toleratesItsFailures(): boolean {
    const { count, percentage } = this.tolerance;
    if (count === undefined && percentage === undefined) return this.failedTasks === 0;
    const withinCount = count === undefined || this.failedTasks <= count;
    return withinCount && (percentage === undefined || this.failedTasks * 100 <= percentage * (this.totalTasks ?? 0));
  }

  /** The failure to answer with when the counts decide, or `undefined` for success. */
  get failure(): JobError | undefined {
    if (this.failedTasks === 0 || this.toleratesItsFailures) return undefined;
    const { count, percentage } = this.tolerance;
    const bounds = [...(count === undefined ? [] : [counted(count, 'task')]), ...(percentage === undefined ? [] : [`${percentage} %`])];
    return {
      code: 'JobCompletedWithFailures',
      message:
        `${this.failedTasks} of ${this.totalTasks ?? 0} tasks failed; tolerated: ${bounds.length === 0 ? 'none' : bounds.join(' and ')}. ` +
        (this.failsEarly
          ? `The job ended early because of options.failFast: ${this.progress} of its tasks are counted. A redrive or a Retry runs the rest.`
          : 'failed.jsonl lists them and can be exported again.'),
    };
  }
}
