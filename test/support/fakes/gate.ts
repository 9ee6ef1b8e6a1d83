/**
 * What becomes of one call:
 * - `unavailable`: nothing is applied, the call throws
 * - `lost-reply`: applied, then the call throws
 * - `retried`: applied, the reply is lost, and the SDK's own retry meets what it wrote
 * - a function: runs before the call is applied, so that a test can play another process, or hold the call back
 */
export type Fault = 'unavailable' | 'lost-reply' | 'retried' | (() => void | Promise<void>);

export class FaultError extends Error {}

/** Stands in front of the writes of fakes: records their order and makes them go wrong where a test wants it. */
export class Gate {
  readonly calls: string[] = [];
  readonly #faults = new Map<string, Fault[]>();
  #crashAfter = Infinity;

  /** The next calls of this name meet these faults, one each. */
  next(name: string, ...faults: Fault[]): void {
    this.#faults.set(name, [...(this.#faults.get(name) ?? []), ...faults]);
  }

  /** The process dies right after its n-th call from now was applied: every call throws from then on. */
  crashAfter(calls: number): void {
    this.#crashAfter = this.calls.length + calls;
  }

  get crashed(): boolean {
    return this.calls.length >= this.#crashAfter;
  }

  /** Another process goes on with what the dead one left. */
  restart(): void {
    this.#crashAfter = Infinity;
  }

  async pass<T>(name: string, apply: () => T): Promise<T> {
    if (this.crashed) throw new FaultError('the process is dead');
    const fault = this.#faults.get(name)?.shift();
    if (typeof fault === 'function') await fault();
    if (fault === 'unavailable') throw new FaultError(`${name} is unavailable`);
    this.calls.push(name);
    const applied = apply();
    if (fault === 'lost-reply' || this.crashed) throw new FaultError(`the reply of ${name} was lost`);
    return fault === 'retried' ? apply() : applied;
  }
}
