import type { Clock } from './clock.js';

/** What is sent to a process group comes twice to a process that npm has started: npm gets it, too, and passes it on. */
const SAME_SIGNAL_MS = 500;

/** Tells a person's second signal, which means "at once", from the first one that comes again: any signal of the next half second. */
export class RepeatedSignal {
  private state: 'none' | 'may-repeat' | 'heard' = 'none';

  constructor(private readonly clock: Clock) {}

  /** Asked at each signal. */
  take(): 'first' | 'same' | 'second' {
    switch (this.state) {
      case 'none':
        this.state = 'may-repeat';
        void this.hearOut();
        return 'first';
      case 'may-repeat':
        return 'same';
      case 'heard':
        return 'second';
    }
  }

  private async hearOut(): Promise<void> {
    await this.clock.sleep(SAME_SIGNAL_MS);
    // Timers come before signals in a turn of the event loop: after a turn that was blocked for long, the repeat is still to be read.
    await new Promise((resolve) => setImmediate(resolve));
    this.state = 'heard';
  }
}
