// Preloaded (`--import`) by tests into the service and its worker threads: the wall clock is off by CLOCK_SKEW_MS, or by what the file
// CLOCK_OFFSET_FILE holds, and jumps when that changes. The monotonic clock and all timers are left alone, as on a real host.
import { readFileSync } from 'node:fs';

const LOOK_EVERY_MS = 50;

const TrueDate = Date;
const { CLOCK_SKEW_MS, CLOCK_OFFSET_FILE } = process.env;
let offsetMs = Number(CLOCK_SKEW_MS ?? 0);
let lookedAt = -Infinity;

function now() {
  if (CLOCK_OFFSET_FILE !== undefined && performance.now() - lookedAt > LOOK_EVERY_MS) {
    lookedAt = performance.now();
    offsetMs = Number(readFileSync(CLOCK_OFFSET_FILE, 'utf8'));
  }
  return TrueDate.now() + offsetMs;
}

globalThis.Date = class extends TrueDate {
  constructor(...given) {
    super(...(given.length === 0 ? [now()] : given));
  }

  static now() {
    return now();
  }
};
