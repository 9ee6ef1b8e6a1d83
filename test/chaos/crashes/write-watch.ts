import type { AwsRequest } from '../aws-request.js';
import type { FaultProxy } from '../fault-proxy.js';
import { BY_THE_CLOCK, meaningOf } from './write-name.js';

/** Sees what one process writes from now on, and has it killed right after one write was carried out, before the answer. */
export class WriteWatch {
  /** What was written up to the stop, in the order it was asked for; of what comes by the clock only the first. */
  readonly writes: string[] = [];
  /** The write at which the process was killed, once it is dead. */
  stoppedAt: { write: string; atMs: number } | undefined;
  private readonly counted = new WeakSet<AwsRequest>();
  private stopping: Promise<void> | undefined;

  /**
   * @param write 1 is the first; none: nobody is killed
   * @param isOfJob which writes are seen
   */
  constructor(
    private readonly proxy: FaultProxy,
    write: number | undefined,
    private readonly isOfJob: (write: AwsRequest) => boolean,
    private readonly kill: () => Promise<void>,
  ) {
    proxy.chance = (request) => {
      this.see(request);
      return undefined;
    };
    if (write === undefined) return;
    proxy.stopAtWrite(
      write,
      (name) => {
        this.stopping = this.stop(name);
        return this.stopping;
      },
      (request) => this.counted.has(request),
    );
  }

  /** From here on nobody is killed any more. */
  async end(): Promise<void> {
    this.proxy.calm();
    await this.stopping;
  }

  private async stop(name: string): Promise<void> {
    await this.kill();
    this.stoppedAt = { write: meaningOf(name), atMs: performance.now() };
  }

  private see(request: AwsRequest): void {
    if (this.stopping !== undefined || !request.write || !this.isOfJob(request)) return;
    const meaning = meaningOf(request.name);
    if (BY_THE_CLOCK.includes(meaning) && this.writes.includes(meaning)) return;
    this.counted.add(request);
    this.writes.push(meaning);
  }
}
