/** Of a job that holds something, or waits. */
interface JobUse {
  readonly jobId: string;
  held: number;
  waiting: number;
  /** Counts grants of all jobs. */
  lastGrant: number;
}

interface Waiter {
  bytes: number;
  job: JobUse;
  grant: (account: Account) => void;
}

/** What a buffer is charged to: the memory that all jobs share, or the reserve for jobs that hold nothing. */
type Account = 'shared' | 'reserve';

/** A buffer of the budget. Not zeroed: it may hold bytes of an earlier transfer. */
export interface HeldBuffer {
  bytes: Buffer;
  /** Gives it back, once. `reuse` only when nobody reads it any more: a socket may still write what was sent and has failed. */
  release: (after?: 'reuse') => void;
}

/** From here on memory comes from the kernel, page by page, and the collector is driven by it: worth keeping. */
const KEPT_FROM_BYTES = 1024 * 1024;
/** The reserve, as a part of the total and beyond it. */
const RESERVE = 1 / 4;

/**
 * The bytes that the buffers of one thread may hold. A buffer is granted whole, before it is filled, and filling or sending it
 * needs no further grant: so whoever holds one can finish, and nobody waits in a circle.
 *
 * Who comes next: of the jobs that wait, the one that holds least, and of its requests the first; of jobs that hold the same, the one that
 * was granted nothing for longest. Whose turn it is keeps the turn until there is room, or a large part would wait behind small ones for ever.
 *
 * Slow bodies may hold the total for many minutes. A job that holds nothing then takes one buffer from a reserve: a quarter of the total,
 * or one larger buffer alone. No buffer is larger than half of the total (domain/part-plan.ts), so no thread holds more than one and a
 * half totals, and as a rule one and a quarter. A job that is alone never needs the reserve.
 *
 * Large buffers are used again while anything is held: made anew for each part they cost a quarter of the time of a large file.
 */
export class MemoryBudget {
  private readonly charged: Record<Account, number> = { shared: 0, reserve: 0 };
  private readonly jobs = new Map<string, JobUse>();
  private grants = 0;
  private spares: Buffer[] = [];
  private readonly waiting: Waiter[] = [];
  private turn: Waiter | undefined;
  private told = 0;

  /** @param tellWaiting is told how many wait, whenever that changes */
  constructor(
    readonly totalBytes: number,
    private readonly tellWaiting: (tasks: number) => void = () => {},
  ) {}

  get heldBytes(): number {
    return this.charged.shared + this.charged.reserve;
  }

  /** Of buffers that wait for their next use; never, with those held, more than the total, unless those held alone are. */
  get spareBytes(): number {
    return this.spares.reduce((sum, spare) => sum + spare.length, 0);
  }

  /** Rejects with the signal's reason when it is aborted first. */
  async take(bytes: number, jobId: string, signal: AbortSignal): Promise<HeldBuffer> {
    signal.throwIfAborted();
    if (bytes > this.totalBytes) throw new Error(`${bytes} bytes are more than all ${this.totalBytes}`);
    const job = this.jobOf(jobId);
    const account = await this.granted(bytes, job, signal);
    const buffer = this.bufferOf(bytes);
    let returned = false;
    return {
      bytes: buffer,
      release: (after) => {
        if (returned) return;
        returned = true;
        this.charge(account, job, -bytes);
        this.forgetIdle(job);
        if (after === 'reuse' && bytes >= KEPT_FROM_BYTES) this.spares.push(buffer);
        this.grantNext();
        if (this.heldBytes === 0) this.spares = [];
      },
    };
  }

  private bufferOf(bytes: number): Buffer {
    const index = this.spares.findIndex((spare) => spare.length === bytes);
    const [spare] = index === -1 ? [] : this.spares.splice(index, 1);
    while (this.spares.length > 0 && this.heldBytes + this.spareBytes > this.totalBytes) this.spares.shift();
    return spare ?? Buffer.allocUnsafeSlow(bytes);
  }

  private granted(bytes: number, job: JobUse, signal: AbortSignal): Promise<Account> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        bytes,
        job,
        grant: (account) => {
          signal.removeEventListener('abort', giveUp);
          resolve(account);
        },
      };
      const giveUp = () => {
        this.leaveLine(waiter);
        this.forgetIdle(job);
        reject(signal.reason);
        this.grantNext();
      };
      signal.addEventListener('abort', giveUp, { once: true });
      this.waiting.push(waiter);
      job.waiting += 1;
      this.grantNext();
    });
  }

  private grantNext(): void {
    for (let next = this.next(); next !== undefined; next = this.next()) {
      const { waiter, account } = next;
      this.leaveLine(waiter);
      this.charge(account, waiter.job, waiter.bytes);
      waiter.job.lastGrant = ++this.grants;
      waiter.grant(account);
    }
    if (this.told === this.waiting.length) return;
    this.told = this.waiting.length;
    this.tellWaiting(this.told);
  }

  private next(): { waiter: Waiter; account: Account } | undefined {
    this.turn ??= this.first();
    if (this.turn === undefined) return undefined;
    if (this.charged.shared + this.turn.bytes <= this.totalBytes) return { waiter: this.turn, account: 'shared' };
    const first = this.first();
    return first?.job.held === 0 && this.fitsReserve(first.bytes) ? { waiter: first, account: 'reserve' } : undefined;
  }

  private first(): Waiter | undefined {
    const [first] = this.waiting.toSorted((a, b) => a.job.held - b.job.held || a.job.lastGrant - b.job.lastGrant);
    return first;
  }

  private fitsReserve(bytes: number): boolean {
    return this.charged.reserve === 0 || this.charged.reserve + bytes <= this.totalBytes * RESERVE;
  }

  private leaveLine(waiter: Waiter): void {
    this.waiting.splice(this.waiting.indexOf(waiter), 1);
    waiter.job.waiting -= 1;
    if (this.turn === waiter) this.turn = undefined;
  }

  private charge(account: Account, job: JobUse, bytes: number): void {
    this.charged[account] += bytes;
    job.held += bytes;
  }

  private jobOf(jobId: string): JobUse {
    // Before the job that was granted last, and behind all that have waited since: or jobs that come and go would pass those for ever.
    const job = this.jobs.get(jobId) ?? { jobId, held: 0, waiting: 0, lastGrant: this.grants - 0.5 };
    this.jobs.set(jobId, job);
    return job;
  }

  private forgetIdle({ jobId, held, waiting }: JobUse): void {
    if (held === 0 && waiting === 0) this.jobs.delete(jobId);
  }
}
