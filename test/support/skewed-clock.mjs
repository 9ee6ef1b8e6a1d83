// Preloaded (`--import`) by tests into the service and its worker threads: their wall clock is off by CLOCK_SKEW_MS.
const skewMs = Number(process.env.CLOCK_SKEW_MS);
const TrueDate = Date;

globalThis.Date = class extends TrueDate {
  constructor(...given) {
    super(...(given.length === 0 ? [TrueDate.now() + skewMs] : given));
  }

  static now() {
    return TrueDate.now() + skewMs;
  }
};
