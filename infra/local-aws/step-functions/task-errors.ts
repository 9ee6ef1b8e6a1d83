import { ExecutionError, StateMachine } from 'aws-local-stepfunctions';

/** A failed task as Retry and Catch see it: by `name`; the message becomes the cause. Empty stands for absent. */
export class TaskFailure extends Error {
  constructor(name: string, cause: string) {
    super(cause);
    this.name = name;
  }
}

/** An error that neither Retry nor Catch may match, not even `States.ALL`: the engine asks by these two names. */
export class FinalError extends TaskFailure {
  readonly isRetryable = false;
  readonly isCatchable = false;
}

const TIMES_OUT = new StateMachine(
  { StartAt: 'Wait', States: { Wait: { Type: 'Task', Resource: '', TimeoutSeconds: 0.001, End: true } } },
  { validationOptions: { noValidate: true } },
);

/**
 * A timeout by this name. `States.TaskFailed` must not match it; the engine tells timeouts apart by a class that it does not
 * export, so it is made to throw one.
 */
export async function timeoutNamed(name: string): Promise<unknown> {
  const never = () => new Promise<never>(() => {});
  try {
    return await TIMES_OUT.run({}, { overrides: { taskResourceLocalHandlers: { Wait: never } } }).result;
  } catch (error) {
    if (!(error instanceof ExecutionError) || !(error.cause instanceof Error)) throw error;
    return Object.assign(error.cause, { name, message: '' });
  }
}
