import { createHash, randomBytes } from 'node:crypto';
import { ApiError } from './api-error.js';

/** What became of one task token: for tests and for the demo's checks from outside, never shown over HTTP. */
export interface TokenRecord {
  readonly token: string;
  readonly executionArn: string;
  readonly stateName: string;
  /** 1, 2, 3 … within the state: how many tokens it has had. */
  readonly attempt: number;
  readonly startedAtMs: number;
  /** Epoch milliseconds of each accepted heartbeat. */
  readonly heartbeats: number[];
  readonly answers: { kind: 'success' | 'failure'; accepted: boolean; atMs: number; error?: string }[];
  closed?: 'success' | 'failure' | 'timeout' | 'stopped';
}

export type TaskAnswer = { kind: 'success'; output: string } | { kind: 'failure'; error?: string; cause?: string };
export type TaskEnding = TaskAnswer | { kind: 'timeout'; missed: 'heartbeat' | 'answer' } | { kind: 'stopped' };

export interface TaskLimits {
  heartbeatSeconds?: number;
  timeoutSeconds?: number;
}

/** Begins as AWS's do, so that a mask or a search made for those is tried on the real thing. */
const PREFIX = 'AAAAKgAAAAIAAAAA';
const SECRET_BYTES = 360;
/** SHA-256 in base64. */
const DIGEST_LENGTH = 44;
/** Longer delays overflow and fire at once; 24.8 days are for ever here. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** A fresh token. Its end is a digest of its middle, which tells a garbled one from one of another endpoint. */
export function newToken(): string {
  const secret = randomBytes(SECRET_BYTES).toString('base64');
  return PREFIX + secret + digestOf(secret);
}

export function isWellFormed(token: string): boolean {
  const body = token.slice(PREFIX.length);
  const secret = body.slice(0, -DIGEST_LENGTH);
  return token.startsWith(PREFIX) && body === secret + digestOf(secret);
}

/** A token between TaskStarted and its end. Open → closed once, by whichever is first: an answer, a timeout, the end of the execution. */
export class TaskToken {
  readonly record: TokenRecord;
  private resolve: (ending: TaskEnding) => void = () => {};
  readonly ending = new Promise<TaskEnding>((resolve) => {
    this.resolve = resolve;
  });
  private readonly heartbeatTimer: NodeJS.Timeout | undefined;
  private readonly timeoutTimer: NodeJS.Timeout | undefined;

  /** Both clocks start here. */
  constructor(facts: Pick<TokenRecord, 'token' | 'executionArn' | 'stateName' | 'attempt'>, limits: TaskLimits) {
    this.record = { ...facts, startedAtMs: Date.now(), heartbeats: [], answers: [] };
    this.heartbeatTimer = this.timer(limits.heartbeatSeconds, 'heartbeat');
    this.timeoutTimer = this.timer(limits.timeoutSeconds, 'answer');
  }

  /** Starts the heartbeat clock anew, never the timeout. @throws ApiError `TaskTimedOut` when the token is closed */
  heartbeat(): void {
    this.refuseClosed();
    this.heartbeatTimer?.refresh();
    this.record.heartbeats.push(Date.now());
  }

  /** @throws ApiError `TaskTimedOut` when the token is closed, `InvalidOutput` when the output is not JSON: either is recorded as not accepted */
  answer(answer: TaskAnswer): void {
    const entry = {
      kind: answer.kind,
      accepted: false,
      atMs: Date.now(),
      ...(answer.kind === 'failure' && answer.error !== undefined ? { error: answer.error } : {}),
    };
    this.record.answers.push(entry);
    this.refuseClosed();
    if (answer.kind === 'success') refuseBrokenJson(answer.output);
    entry.accepted = true;
    this.close(answer);
  }

  close(ending: TaskEnding): void {
    if (this.record.closed !== undefined) return;
    this.record.closed = ending.kind;
    clearTimeout(this.heartbeatTimer);
    clearTimeout(this.timeoutTimer);
    this.resolve(ending);
  }

  private timer(seconds: number | undefined, missed: 'heartbeat' | 'answer'): NodeJS.Timeout | undefined {
    if (seconds === undefined) return undefined;
    return setTimeout(() => this.close({ kind: 'timeout', missed }), Math.min(seconds * 1_000, MAX_TIMER_MS));
  }

  private refuseClosed(): void {
    if (this.record.closed !== undefined) throw new ApiError('TaskTimedOut', `Task Timed Out: 'Provided task does not exist anymore'`);
  }
}

function refuseBrokenJson(output: string): void {
  try {
    JSON.parse(output);
  } catch {
    throw new ApiError('InvalidOutput', `Invalid Output: 'The provided JSON output data is not valid'`);
  }
}

function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('base64');
}
