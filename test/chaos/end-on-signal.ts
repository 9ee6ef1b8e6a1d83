/** A signal ends what is under way and the processes it started. */
export function endOnSignal(): AbortSignal {
  const ending = new AbortController();
  for (const [name, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)
    process.once(name, () => {
      ending.abort();
      process.exit(code);
    });
  process.once('exit', () => ending.abort());
  return ending.signal;
}
