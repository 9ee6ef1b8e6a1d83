import type { MonotonicMs } from '../../shared/index.js';

/** What a holder tells, beside its checkpoint, of the files that are not recorded yet. It is for people; nothing is counted from it. */
export interface InHand {
  /** Bytes of them that have arrived. */
  readonly bytesInHand: number;
  /** How much longer a file waits because its host said so; 0 when none does. */
  readonly pausedMs: number;
  /** That host; of several the one that is waited for longest. */
  readonly pausedHost?: string;
}

/** The tries of a batch that run now, and the host its files wait for. */
export class WorkInHand {
  private readonly arrived = new Map<number, number>();
  private pause: { host: string | undefined; until: MonotonicMs } = { host: undefined, until: -Infinity };

  /** So many bytes have arrived in the try that runs. */
  arrives(position: number, bytes: number): void {
    this.arrived.set(position, bytes);
  }

  /** The try is over: its file is recorded, or begins anew. */
  ends(position: number): void {
    this.arrived.delete(position);
  }

  waits(host: string | undefined, until: MonotonicMs): void {
    if (until > this.pause.until) this.pause = { host, until };
  }

  /** @param recordedBytes of files that are recorded, and that the checkpoint leaves out */
  tell(now: MonotonicMs, recordedBytes: number): InHand {
    const { host, until } = this.pause;
    const pausedMs = Math.max(0, Math.ceil(until - now));
    return {
      bytesInHand: [...this.arrived.values()].reduce((sum, bytes) => sum + bytes, recordedBytes),
      pausedMs,
      ...(pausedMs > 0 && host !== undefined && { pausedHost: host }),
    };
  }
}
