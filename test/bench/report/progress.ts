/** Progress goes to stderr: stdout holds the result alone. */
export function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}
