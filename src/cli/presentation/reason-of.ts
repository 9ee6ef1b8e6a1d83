/** The cause of a failed execution for people: our own causes are JSON with a message, those of Step Functions plain text. */
export function reasonOf(cause: string | undefined): string {
  try {
    const { message } = JSON.parse(cause ?? '') as { message?: unknown };
    return typeof message === 'string' ? message : 'no message';
  } catch {
    return cause ?? 'no cause';
  }
}
