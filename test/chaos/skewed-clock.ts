import { readFileSync } from 'node:fs';

/*
 * Preloaded into the service by NODE_OPTIONS, into its threads too: the wall clock is off by the milliseconds that the file
 * CLOCK_OFFSET_FILE holds, and jumps when they change. The monotonic clock and all timers are left alone, as on a real host.
 */

const LOOK_EVERY_MS = 50;

const RealDate = Date;
const file = process.env.CLOCK_OFFSET_FILE;
let offsetMs = 0;
let lookedAt = -Infinity;

function now(): number {
  if (file !== undefined && performance.now() - lookedAt > LOOK_EVERY_MS) {
    lookedAt = performance.now();
    offsetMs = Number(readFileSync(file, 'utf8'));
  }
  return RealDate.now() + offsetMs;
}

class SkewedDate extends RealDate {
  constructor(...given: unknown[]) {
    super(...((given.length === 0 ? [now()] : given) as [number]));
  }

  static override now(): number {
    return now();
  }
}

globalThis.Date = SkewedDate as DateConstructor;
