import { ExecutionError, StateMachine, type StateMachineDefinition } from 'aws-local-stepfunctions';
import { z } from 'zod';
import type { Json, TaskDefinition } from './definition.js';
import { FinalError } from './task-errors.js';
import type { TaskLimits } from './task-token.js';

/** The context object of one attempt, as the states language's `$$` sees it. */
export interface TaskContext {
  Execution: { Id: string; Name: string; RoleArn: string };
  StateMachine: { Id: string; Name: string };
  State: { Name: string; EnteredTime: string; RetryCount: number };
  Task: { Token: string };
}

export interface TaskParameters extends TaskLimits {
  queueUrl: string;
  body: string;
  messageGroupId?: string;
}

const seconds = z.int().min(1).optional();
const resolvedSchema = z.object({
  parameters: z.object({ QueueUrl: z.string(), MessageBody: z.unknown(), MessageGroupId: z.string().optional() }),
  heartbeatSeconds: seconds,
  timeoutSeconds: seconds,
});

/**
 * Fills in a task's parameters with a fresh context. The engine's evaluator is not exported, so a machine of two Pass states
 * does it; one of its functions writes into the input (States.JsonMerge), so it works on a copy.
 * @throws what the engine threw (a path that points to nothing, a function that failed), FinalError `States.Runtime`
 */
export async function resolveParameters(
  task: TaskDefinition,
  data: { executionInput: Json; stateInput: Json; context: TaskContext },
): Promise<TaskParameters> {
  const fill = {
    Type: 'Pass',
    End: true,
    Parameters: {
      parameters: task.Parameters,
      ...(task.HeartbeatSecondsPath === undefined
        ? { heartbeatSeconds: task.HeartbeatSeconds }
        : { 'heartbeatSeconds.$': task.HeartbeatSecondsPath }),
      ...(task.TimeoutSecondsPath === undefined
        ? { timeoutSeconds: task.TimeoutSeconds }
        : { 'timeoutSeconds.$': task.TimeoutSecondsPath }),
    },
    ...(task.InputPath === undefined ? {} : { InputPath: task.InputPath }),
  };
  const machine = { StartAt: 'Take', States: { Take: { Type: 'Pass', InputPath: '$$.StateInput', Next: 'Fill' }, Fill: fill } };
  const engine = new StateMachine(machine as StateMachineDefinition, { validationOptions: { noValidate: true } });
  const context = { ...data.context, StateInput: JSON.parse(JSON.stringify(data.stateInput)) as unknown };
  try {
    return messageOf(await engine.run(data.executionInput, { context }).result);
  } catch (error) {
    throw error instanceof ExecutionError ? error.cause : error;
  }
}

function messageOf(resolved: Json): TaskParameters {
  const { data, error } = resolvedSchema.safeParse(resolved);
  if (data === undefined) throw new FinalError('States.Runtime', z.prettifyError(error));
  const { parameters, heartbeatSeconds, timeoutSeconds } = data;
  const { QueueUrl, MessageBody, MessageGroupId } = parameters;
  return {
    queueUrl: QueueUrl,
    body: typeof MessageBody === 'string' ? MessageBody : JSON.stringify(MessageBody),
    ...(MessageGroupId === undefined ? {} : { messageGroupId: MessageGroupId }),
    ...(heartbeatSeconds === undefined ? {} : { heartbeatSeconds }),
    ...(timeoutSeconds === undefined ? {} : { timeoutSeconds }),
  };
}
