import { ExecutionError } from 'aws-local-stepfunctions';
import type { CompiledMachine, Json } from './definition.js';
import { ExecutionHistory } from './history.js';
import { runTask, type ExecutionFacts, type TaskHost } from './task.js';
import type { TaskContext } from './task-parameters.js';
import { MAX_TIMER_MS, type TaskToken } from './task-token.js';

export type ExecutionStatus = 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'TIMED_OUT' | 'ABORTED';

export interface ExecutionOutcome {
  status: Exclude<ExecutionStatus, 'RUNNING'>;
  stoppedAtMs: number;
  output?: string;
  error?: string;
  cause?: string;
}

type EngineEvents = ReturnType<CompiledMachine['engine']['run']>['eventLogs'];

const ENDED_EVENTS = {
  SUCCEEDED: 'ExecutionSucceeded',
  FAILED: 'ExecutionFailed',
  TIMED_OUT: 'ExecutionTimedOut',
  ABORTED: 'ExecutionAborted',
} as const;

/** One run of a machine: RUNNING until the engine ends, the machine's TimeoutSeconds pass, or someone stops it; the first decides, and closes every open token. */
export class Execution implements TaskHost {
  readonly history = new ExecutionHistory();
  readonly startedAtMs = Date.now();
  outcome: ExecutionOutcome | undefined;
  private readonly attempts = new Map<string, number>();
  private readonly tokens: TaskToken[] = [];
  private readonly abortEngine: () => void;
  private readonly timer: NodeJS.Timeout | undefined;
  private readonly engineEnded: Promise<void>;

  constructor(readonly facts: ExecutionFacts) {
    const { input, machine } = facts;
    const { engine, tasks, timeoutSeconds } = machine.compiled;
    this.history.add('ExecutionStarted', { input, roleArn: machine.roleArn });
    const handlers = Array.from(tasks, ([name, task]) => [name, (input: Json) => runTask(this, name, task, input)]);
    const run = engine.run(JSON.parse(input) as Json, {
      noThrowOnAbort: true,
      context: this.baseContext(),
      overrides: { taskResourceLocalHandlers: Object.fromEntries(handlers) },
    });
    this.abortEngine = run.abort;
    this.timer =
      timeoutSeconds === undefined ? undefined : setTimeout(() => this.timeOut(), Math.min(timeoutSeconds * 1_000, MAX_TIMER_MS));
    this.engineEnded = this.follow(run.result, run.eventLogs);
  }

  get status(): ExecutionStatus {
    return this.outcome?.status ?? 'RUNNING';
  }

  /** Aborts it at once; nothing when it has ended. Resolves when the engine has let go. */
  async stop(reason: { error?: string; cause?: string } = {}): Promise<void> {
    this.end('ABORTED', reason, 'stopped');
    await this.engineEnded;
  }

  isRunning(): boolean {
    return this.outcome === undefined;
  }

  nextAttempt(stateName: string): number {
    const attempt = (this.attempts.get(stateName) ?? 0) + 1;
    this.attempts.set(stateName, attempt);
    return attempt;
  }

  contextOf(stateName: string, attempt: number): Omit<TaskContext, 'Task'> {
    return { ...this.baseContext(), State: { Name: stateName, EnteredTime: new Date().toISOString(), RetryCount: attempt - 1 } };
  }

  opened(token: TaskToken): void {
    this.tokens.push(token);
    this.facts.onToken(token);
  }

  private baseContext(): Pick<TaskContext, 'Execution' | 'StateMachine'> {
    const { arn, name, machine } = this.facts;
    return {
      Execution: { Id: arn, Name: name, RoleArn: machine.roleArn },
      StateMachine: { Id: machine.arn, Name: machine.name },
    };
  }

  private async follow(result: Promise<Json>, events: EngineEvents): Promise<void> {
    const recorded = this.record(events);
    try {
      const output = await result;
      await recorded;
      this.end('SUCCEEDED', { output: JSON.stringify(output) }, 'stopped');
    } catch (error) {
      await recorded;
      this.end('FAILED', failureOf(error), 'stopped');
    }
  }

  private async record(events: EngineEvents): Promise<void> {
    for await (const event of events) {
      if (event.type === 'StateEntered') {
        this.history.add(`${event.state.type}StateEntered`, { name: event.state.name, input: JSON.stringify(event.state.input) });
      } else if (event.type === 'StateExited') {
        this.history.add(`${event.state.type}StateExited`, { name: event.state.name, output: JSON.stringify(event.state.output) });
      }
    }
  }

  private timeOut(): void {
    this.end('TIMED_OUT', { error: 'States.Timeout' }, 'timeout');
  }

  private end(
    status: ExecutionOutcome['status'],
    details: Pick<ExecutionOutcome, 'output' | 'error' | 'cause'>,
    closing: 'stopped' | 'timeout',
  ): void {
    if (this.outcome !== undefined) return;
    this.outcome = { status, stoppedAtMs: Date.now(), ...details };
    clearTimeout(this.timer);
    for (const token of this.tokens) token.close(closing === 'stopped' ? { kind: 'stopped' } : { kind: 'timeout', missed: 'answer' });
    this.history.end(ENDED_EVENTS[status], details);
    this.abortEngine();
  }
}

/** What ended the engine, as DescribeExecution shows it. Empty stands for absent; both timeouts have one name. */
function failureOf(error: unknown): { error?: string; cause?: string } {
  const failure = error instanceof ExecutionError ? error.cause : error;
  const { name, message } = failure instanceof Error ? failure : { name: 'States.Runtime', message: '' };
  const shown = name === 'States.HeartbeatTimeout' ? 'States.Timeout' : name;
  return { ...(shown === '' ? {} : { error: shown }), ...(message === '' ? {} : { cause: message }) };
}
