/**
 * Ends the process once its readers have every byte. The listeners of signals stay to the last: a process whose event loop just
 * runs out takes them down first, and a Ctrl-C that npm passes on then kills it, so that its caller sees no exit code.
 */
export async function endProcess(code: number): Promise<never> {
  await Promise.all([process.stdout, process.stderr].map(flush));
  return process.exit(code);
}

function flush(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => void stream.write('', () => resolve()));
}
