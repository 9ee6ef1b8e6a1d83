import type { BatchEntity } from './batch.entity.js';

/** The state of a batch's tasks as it is written to its row. */
export interface CheckpointState {
  done: Uint8Array;
  failures: ReadonlyMap<number, string>;
  completed: number;
  failed: number;
  bytes: number;
}

/**
 * Which tasks of a batch are done, as its holder knows it.
 *
 * A flush never holds the batch's last task: the job's counts would add up, and the job be answered, before the batch has
 * its result files. The last task goes with the end, which writes the results first.
 */
export class Checkpoint {
  private readonly done: Uint8Array;
  private readonly failures: Map<number, string>;
  private completed: number;
  private bytes: number;
  /** What to leave out of a flush once everything is recorded. */
  private last: { position: number; bytes: number } | undefined;

  constructor(
    readonly totalTasks: number,
    from: Pick<BatchEntity, 'done' | 'failures' | 'completed' | 'bytes'>,
  ) {
    this.done = new Uint8Array(Math.ceil(totalTasks / 8));
    this.done.set(from.done.subarray(0, this.done.length));
    this.failures = new Map(from.failures);
    this.completed = from.completed;
    this.bytes = from.bytes;
  }

  static empty(totalTasks: number): CheckpointState {
    return { done: new Uint8Array(Math.ceil(totalTasks / 8)), failures: new Map(), completed: 0, failed: 0, bytes: 0 };
  }

  hasSucceeded(position: number): boolean {
    return ((this.done[position >> 3] ?? 0) & (1 << (position & 7))) !== 0;
  }

  isRecorded(position: number): boolean {
    return this.hasSucceeded(position) || this.failures.has(position);
  }

  get complete(): boolean {
    return this.completed + this.failures.size === this.totalTasks;
  }

  /** Positions that still have to run, in order. */
  pending(): number[] {
    return Array.from({ length: this.totalTasks }, (_, position) => position).filter((position) => !this.isRecorded(position));
  }

  succeed(position: number, bytes: number): void {
    if (this.isRecorded(position)) return;
    this.done[position >> 3] = (this.done[position >> 3] ?? 0) | (1 << (position & 7));
    this.completed++;
    this.bytes += bytes;
    this.last = { position, bytes };
  }

  fail(position: number, code: string): void {
    if (this.isRecorded(position)) return;
    this.failures.set(position, code);
    this.last = { position, bytes: 0 };
  }

  /** Everything, for the write that ends the batch. */
  whole(): CheckpointState {
    return {
      done: this.done.slice(),
      failures: new Map(this.failures),
      completed: this.completed,
      failed: this.failures.size,
      bytes: this.bytes,
    };
  }

  /** Bytes of the task that a flush leaves out. */
  get bytesLeftOut(): number {
    return this.complete ? (this.last?.bytes ?? 0) : 0;
  }

  /** What a flush may hold: all but the batch's last task. */
  flushable(): CheckpointState {
    const state = this.whole();
    if (!this.complete || this.last === undefined) return state;
    const { position, bytes } = this.last;
    const failures = new Map(state.failures);
    if (failures.delete(position)) return { ...state, failures, failed: state.failed - 1 };
    state.done[position >> 3] = (state.done[position >> 3] ?? 0) & ~(1 << (position & 7));
    return { ...state, completed: state.completed - 1, bytes: state.bytes - bytes };
  }
}
