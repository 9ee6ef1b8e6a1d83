import { randomUUID } from 'node:crypto';
import { ApiError } from './api-error.js';
import { Execution } from './execution.js';
import { MAX_PAYLOAD_BYTES, optionalName, optionalText, requiredArn, violation, type Fields } from './fields.js';
import { secondsOf, type LogNote, type Operation } from './operation.js';
import { pageOf } from './page.js';
import type { StepFunctionsStore } from './store.js';
import type { SendMessage } from './task.js';

export interface ExecutionSettings {
  /** `arn:aws:states:<region>:<account>` */
  arnPrefix: string;
  region: string;
  sendMessage: SendMessage;
}

const STATUSES = ['RUNNING', 'SUCCEEDED', 'FAILED', 'TIMED_OUT', 'ABORTED'];

export function executionOperations(store: StepFunctionsStore, settings: ExecutionSettings): Record<string, Operation> {
  const executionOf = (fields: Fields, note: LogNote) => {
    const arn = requiredArn(fields, 'executionArn', 'execution');
    note.resource = arn;
    return store.execution(arn);
  };
  return {
    StartExecution: (fields, note) => start(store, settings, fields, note),
    DescribeExecution: (fields, note) => describe(executionOf(fields, note)),
    ListExecutions: (fields, note) => list(store, fields, note),
    GetExecutionHistory(fields, note) {
      const { events } = executionOf(fields, note).history;
      const ordered = fields['reverseOrder'] === true ? events.toReversed() : events;
      const { items, nextToken } = pageOf(ordered, fields, ({ id }) => String(id));
      return { events: items, nextToken };
    },
    StopExecution(fields, note) {
      const error = optionalText(fields, 'error', { max: 256 });
      const cause = optionalText(fields, 'cause', { max: 32_768 });
      const execution = executionOf(fields, note);
      void execution.stop({ ...(error === undefined ? {} : { error }), ...(cause === undefined ? {} : { cause }) });
      return { stopDate: secondsOf(execution.outcome?.stoppedAtMs ?? Date.now()) };
    },
  };
}

/** The same name and input while it runs is the same start; the name of an ended execution is taken. */
function start(store: StepFunctionsStore, settings: ExecutionSettings, fields: Fields, note: LogNote): object {
  const machineArn = requiredArn(fields, 'stateMachineArn', 'stateMachine');
  const name = optionalName(fields) ?? randomUUID();
  const input = optionalText(fields, 'input', { max: MAX_PAYLOAD_BYTES, unit: 'bytes' }) ?? '{}';
  refuseBrokenInput(input);
  note.resource = machineArn;
  const machine = store.machine(machineArn);
  const arn = `${settings.arnPrefix}:execution:${machine.name}:${name}`;
  note.resource = arn;
  const existing = store.executions.get(arn);
  if (existing !== undefined && (existing.status !== 'RUNNING' || existing.facts.input !== input)) {
    throw new ApiError('ExecutionAlreadyExists', `Execution Already Exists: '${arn}'`);
  }
  const { region, sendMessage } = settings;
  const execution =
    existing ?? new Execution({ arn, name, input, machine, region, sendMessage, onToken: (token) => store.tokens.add(token) });
  store.executions.set(arn, execution);
  return { executionArn: arn, startDate: secondsOf(execution.startedAtMs) };
}

function refuseBrokenInput(input: string): void {
  try {
    JSON.parse(input);
  } catch {
    throw new ApiError('InvalidExecutionInput', `Invalid State Machine Execution Input: 'not valid JSON'`);
  }
}

/** Newest first, as AWS lists them. */
function list(store: StepFunctionsStore, fields: Fields, note: LogNote): object {
  const machineArn = requiredArn(fields, 'stateMachineArn', 'stateMachine');
  note.resource = machineArn;
  const { arn } = store.machine(machineArn);
  const status = optionalText(fields, 'statusFilter', { max: 64 });
  if (status !== undefined && !STATUSES.includes(status))
    throw violation('statusFilter', `Member must satisfy enum value set: [${STATUSES.join(', ')}]`);
  const matching = Array.from(store.executions.values())
    .filter((execution) => execution.facts.machine.arn === arn && (status === undefined || execution.status === status))
    .toReversed();
  const { items, nextToken } = pageOf(matching, fields, ({ facts }) => facts.arn);
  return { executions: items.map(summaryOf), nextToken };
}

function describe(execution: Execution): object {
  const { output, error, cause } = execution.outcome ?? {};
  return { ...summaryOf(execution), input: execution.facts.input, inputDetails: { included: true }, output, error, cause };
}

function summaryOf(execution: Execution): object {
  const { status, startedAtMs, outcome } = execution;
  const { arn, name, machine } = execution.facts;
  return {
    executionArn: arn,
    stateMachineArn: machine.arn,
    name,
    status,
    startDate: secondsOf(startedAtMs),
    ...(outcome === undefined ? {} : { stopDate: secondsOf(outcome.stoppedAtMs) }),
  };
}
