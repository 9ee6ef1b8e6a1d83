import { StateMachine, type StateMachineDefinition } from 'aws-local-stepfunctions';
import { ApiError } from './api-error.js';
import { MAX_TIMER_MS } from './task-token.js';

const SEND_MESSAGE = 'arn:aws:states:::sqs:sendMessage.waitForTaskToken';

/** Any JSON value, as the engine types it. */
export type Json = Parameters<StateMachine['run']>[0];

/** What names the errors of a Retry or a Catch. */
interface Matcher {
  ErrorEquals: string[];
}

/** A state in the states language: the members that this endpoint reads; the engine knows the others. */
interface AslState {
  Type: string;
  QueryLanguage?: string;
  Assign?: unknown;
  Resource?: string;
  InputPath?: string | null;
  Parameters?: Record<string, unknown>;
  HeartbeatSeconds?: number;
  HeartbeatSecondsPath?: string;
  TimeoutSeconds?: number;
  TimeoutSecondsPath?: string;
  Retry?: Matcher[];
  Catch?: Matcher[];
  Branches?: AslMachine[];
  Iterator?: AslMachine;
  ItemProcessor?: AslMachine;
}

interface AslMachine {
  QueryLanguage?: string;
  TimeoutSeconds?: number;
  States: Record<string, AslState>;
}

export type TaskDefinition = AslState;

export interface CompiledMachine {
  readonly engine: StateMachine;
  /** Every task at any depth; the states language wants names unique over all of them. */
  readonly tasks: ReadonlyMap<string, TaskDefinition>;
  readonly timeoutSeconds: number | undefined;
  /** The error of a missed heartbeat: AWS's `States.Timeout`, or the narrower name if the machine tells the two apart. */
  readonly heartbeatError: 'States.Timeout' | 'States.HeartbeatTimeout';
}

/** @throws ApiError `InvalidDefinition`: also for what the local engine cannot run and would get wrong in silence */
export function compileDefinition(text: string): CompiledMachine {
  const machine = parse(text);
  const states = allStates(machine);
  for (const [name, state] of states) refuseUnsupported(name, state, machine.QueryLanguage);
  const matchers = states.flatMap(([, state]) => [...(state.Retry ?? []), ...(state.Catch ?? [])]);
  const tellsHeartbeats = matchers.some(
    ({ ErrorEquals }) => ErrorEquals.includes('States.HeartbeatTimeout') && !ErrorEquals.includes('States.Timeout'),
  );
  return {
    engine: new StateMachine(forEngine(machine) as unknown as StateMachineDefinition, { validationOptions: { noValidate: true } }),
    tasks: new Map(states.filter(([, state]) => state.Type === 'Task')),
    timeoutSeconds: machine.TimeoutSeconds,
    heartbeatError: tellsHeartbeats ? 'States.HeartbeatTimeout' : 'States.Timeout',
  };
}

function parse(text: string): AslMachine {
  try {
    // The validator writes into what it is given: it gets a copy of its own.
    void new StateMachine(JSON.parse(text) as StateMachineDefinition, { validationOptions: { checkArn: false } });
    return JSON.parse(text) as AslMachine;
  } catch (error) {
    throw invalid(error instanceof Error ? error.message : 'not JSON');
  }
}

function allStates(machine: AslMachine): [string, AslState][] {
  return Object.entries(machine.States).flatMap((entry) => [entry, ...innerMachines(entry[1]).flatMap(allStates)]);
}

function innerMachines(state: AslState): AslMachine[] {
  return [...(state.Branches ?? []), state.Iterator, state.ItemProcessor].filter((inner) => inner !== undefined);
}

function refuseUnsupported(name: string, state: AslState, machineLanguage?: string): void {
  const at = `at /States/${name}`;
  if ((state.QueryLanguage ?? machineLanguage) === 'JSONata') throw invalid(`JSONata is not supported by the embedded AWS ${at}`);
  if (state.Assign !== undefined) throw invalid(`Assign is not supported by the embedded AWS ${at}`);
  if (state.Type !== 'Task') return;
  if (state.Resource !== SEND_MESSAGE) throw invalid(`The resource provided ${state.Resource} is not recognized ${at}/Resource`);
  for (const field of ['QueueUrl', 'MessageBody']) {
    const given = state.Parameters !== undefined && (field in state.Parameters || `${field}.$` in state.Parameters);
    if (!given) throw invalid(`The field '${field}' is required but was missing ${at}/Parameters`);
  }
  if (state.HeartbeatSeconds !== undefined && state.TimeoutSeconds !== undefined && state.HeartbeatSeconds >= state.TimeoutSeconds) {
    throw invalid(`HeartbeatSeconds must be smaller than TimeoutSeconds ${at}`);
  }
}

/**
 * The definition without what this endpoint does itself: timeouts (the engine's own default is 60 s, and it knows no
 * heartbeats) and a task's parameters (see task-parameters.ts).
 */
function forEngine({ TimeoutSeconds: _ours, ...machine }: AslMachine): AslMachine {
  return { ...machine, States: Object.fromEntries(Object.entries(machine.States).map(([name, state]) => [name, stateForEngine(state)])) };
}

function stateForEngine(state: AslState): AslState {
  const { Retry, Catch, Branches, Iterator, ItemProcessor, ...rest } = state;
  return {
    ...(state.Type === 'Task' ? taskForEngine(rest) : rest),
    // The engine's stand-ins for an absent error and cause would pass for real ones.
    ...(state.Type === 'Fail' ? { Error: '', Cause: '', ...rest } : {}),
    ...(Retry === undefined ? {} : { Retry: Retry.map(withHeartbeats) }),
    ...(Catch === undefined ? {} : { Catch: Catch.map(withHeartbeats) }),
    ...(Branches === undefined ? {} : { Branches: Branches.map(forEngine) }),
    ...(Iterator === undefined ? {} : { Iterator: forEngine(Iterator) }),
    ...(ItemProcessor === undefined ? {} : { ItemProcessor: forEngine(ItemProcessor) }),
  };
}

function taskForEngine(task: AslState): AslState {
  const { InputPath: _input, Parameters: _parameters, TimeoutSecondsPath: _path, ...rest } = task;
  return { ...rest, TimeoutSeconds: MAX_TIMER_MS / 1_000 };
}

/** `States.Timeout` stands for both kinds of timeout. */
function withHeartbeats<M extends Matcher>(matcher: M): M {
  const { ErrorEquals } = matcher;
  return ErrorEquals.includes('States.Timeout') ? { ...matcher, ErrorEquals: [...ErrorEquals, 'States.HeartbeatTimeout'] } : matcher;
}

function invalid(reason: string): ApiError {
  return new ApiError('InvalidDefinition', `Invalid State Machine Definition: '${reason}'`);
}
