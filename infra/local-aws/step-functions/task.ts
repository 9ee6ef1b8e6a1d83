import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import type { Json, TaskDefinition } from './definition.js';
import { MAX_PAYLOAD_BYTES } from './fields.js';
import type { ExecutionHistory } from './history.js';
import type { Machine } from './machine.js';
import { FinalError, TaskFailure, timeoutNamed } from './task-errors.js';
import { resolveParameters, type TaskContext, type TaskParameters } from './task-parameters.js';
import { newToken, TaskToken, type TaskEnding } from './task-token.js';

export type SendMessage = (queueUrl: string, body: string, options: { messageGroupId?: string }) => Promise<{ messageId: string }>;

export interface ExecutionFacts {
  readonly arn: string;
  readonly name: string;
  /** JSON text, as it was sent. */
  readonly input: string;
  readonly machine: Machine;
  readonly region: string;
  readonly sendMessage: SendMessage;
  readonly onToken: (token: TaskToken) => void;
}

/** What a task needs of its execution. */
export interface TaskHost {
  readonly facts: ExecutionFacts;
  readonly history: ExecutionHistory;
  isRunning(): boolean;
  contextOf(stateName: string, attempt: number): Omit<TaskContext, 'Task'>;
  /** 1, 2, 3 … within the state. */
  nextAttempt(stateName: string): number;
  /** From here on the end of the execution closes the token. */
  opened(token: TaskToken): void;
}

const RESOURCE = { resourceType: 'sqs', resource: 'sendMessage.waitForTaskToken' };

/**
 * One attempt: fill in the parameters with a fresh token, start the clocks, send the message, wait for the token's end.
 * @throws TaskFailure or a timeout for Retry and Catch, FinalError for neither
 */
export async function runTask(host: TaskHost, stateName: string, task: TaskDefinition, stateInput: Json): Promise<Json> {
  // The engine reports its events behind by some microtasks: TaskStateEntered comes before TaskScheduled.
  await turnOfTheLoop();
  const attempt = host.nextAttempt(stateName);
  const token = newToken();
  const context = { ...host.contextOf(stateName, attempt), Task: { Token: token } };
  const parameters = await resolveParameters(task, { executionInput: JSON.parse(host.facts.input) as Json, stateInput, context });
  // A stopped execution runs its retries at once and without end unless told that it is over.
  if (!host.isRunning()) throw new FinalError('ExecutionEnded', '');
  refuseOversize(stateName, parameters);
  const taskToken = start(host, parameters, { token, executionArn: host.facts.arn, stateName, attempt });
  await submit(host, taskToken, parameters);
  return settle(host, await taskToken.ending);
}

function refuseOversize(stateName: string, { body }: TaskParameters): void {
  if (Buffer.byteLength(body) <= MAX_PAYLOAD_BYTES) return;
  throw new FinalError('States.DataLimitExceeded', `The parameters of state '${stateName}' exceed ${MAX_PAYLOAD_BYTES} bytes.`);
}

/** The parameters hold the token: the history shows the queue alone. */
function start(host: TaskHost, parameters: TaskParameters, facts: ConstructorParameters<typeof TaskToken>[0]): TaskToken {
  const { queueUrl, heartbeatSeconds, timeoutSeconds } = parameters;
  host.history.add('TaskScheduled', {
    ...RESOURCE,
    region: host.facts.region,
    parameters: JSON.stringify({ QueueUrl: queueUrl }),
    heartbeatInSeconds: heartbeatSeconds,
    timeoutInSeconds: timeoutSeconds,
  });
  host.history.add('TaskStarted', RESOURCE);
  const token = new TaskToken(facts, parameters);
  host.opened(token);
  return token;
}

/** Ends with the send, or earlier when the token dies; an answer that overtakes the send's own reply waits for it. */
async function submit(host: TaskHost, token: TaskToken, parameters: TaskParameters): Promise<void> {
  const sent = send(host, token, parameters);
  await Promise.race([sent, token.ending.then(() => (isAlive(token) ? sent : undefined))]);
}

async function send(host: TaskHost, token: TaskToken, { queueUrl, body, messageGroupId }: TaskParameters): Promise<void> {
  try {
    const { messageId } = await host.facts.sendMessage(queueUrl, body, messageGroupId === undefined ? {} : { messageGroupId });
    if (isAlive(token)) host.history.add('TaskSubmitted', { ...RESOURCE, output: JSON.stringify({ MessageId: messageId }) });
  } catch (cause) {
    if (token.record.closed !== undefined) return;
    const failure = { error: 'SQS.SqsException', cause: cause instanceof Error ? cause.message : 'unknown' };
    token.close({ kind: 'failure', ...failure });
    host.history.add('TaskSubmitFailed', { ...RESOURCE, ...failure });
    throw new TaskFailure(failure.error, failure.cause);
  }
}

/** Open or answered: timeouts and the end of the execution are what kills a token. */
function isAlive(token: TaskToken): boolean {
  return token.record.closed !== 'timeout' && token.record.closed !== 'stopped';
}

async function settle(host: TaskHost, ending: TaskEnding): Promise<Json> {
  switch (ending.kind) {
    case 'success':
      host.history.add('TaskSucceeded', { ...RESOURCE, output: ending.output });
      return JSON.parse(ending.output) as Json;
    case 'failure':
      host.history.add('TaskFailed', { ...RESOURCE, error: ending.error, cause: ending.cause });
      throw new TaskFailure(ending.error ?? '', ending.cause ?? '');
    case 'timeout':
      host.history.add('TaskTimedOut', { ...RESOURCE, error: 'States.Timeout' });
      throw await timeoutNamed(ending.missed === 'heartbeat' ? host.facts.machine.compiled.heartbeatError : 'States.Timeout');
    case 'stopped':
      throw new FinalError('ExecutionEnded', '');
    default:
      return ending satisfies never;
  }
}
