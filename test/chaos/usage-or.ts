/** What `read` makes of the arguments; what cannot be used ends the process with the usage, exit code 2. */
export function usageOr<T>(usage: string, read: () => T): T {
  try {
    return read();
  } catch {
    console.error(usage);
    process.exit(2);
  }
}
