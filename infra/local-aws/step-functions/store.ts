import { ApiError } from './api-error.js';
import type { Execution } from './execution.js';
import type { Machine } from './machine.js';
import { TaskTokens } from './task-tokens.js';

/** What this endpoint holds, in memory: it is gone when the endpoint ends. */
export class StepFunctionsStore {
  readonly machines = new Map<string, Machine>();
  /** By ARN, oldest first. */
  readonly executions = new Map<string, Execution>();
  readonly tokens = new TaskTokens();

  /** @throws ApiError `StateMachineDoesNotExist` */
  machine(arn: string): Machine {
    const machine = this.machines.get(arn);
    if (machine === undefined) throw new ApiError('StateMachineDoesNotExist', `State Machine Does Not Exist: '${arn}'`);
    return machine;
  }

  /** @throws ApiError `ExecutionDoesNotExist` */
  execution(arn: string): Execution {
    const execution = this.executions.get(arn);
    if (execution === undefined) throw new ApiError('ExecutionDoesNotExist', `Execution Does Not Exist: '${arn}'`);
    return execution;
  }
}
