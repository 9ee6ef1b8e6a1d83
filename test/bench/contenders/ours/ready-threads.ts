import { Metrics } from '../../../../src/shared/index.js';

/** Tells when so many threads of the pool are ready; takes no notice of anything else that is measured. */
export class ReadyThreads extends Metrics {
  readonly allReady: Promise<void>;
  private tell: () => void = () => {};

  constructor(private readonly threads: number) {
    super();
    this.allReady = new Promise((resolve) => (this.tell = resolve));
  }

  gauge(name: string, value: number): void {
    if (name === 'worker_pool_threads' && value >= this.threads) this.tell();
  }

  increment(): void {}

  observe(): void {}
}
