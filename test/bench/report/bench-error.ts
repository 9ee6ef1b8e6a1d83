/** What a person can act on: printed without a stack. */
export class BenchError extends Error {}
