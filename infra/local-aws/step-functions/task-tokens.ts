import { ApiError } from './api-error.js';
import { isWellFormed, type TaskToken, type TokenRecord } from './task-token.js';

/** Every token this endpoint ever issued. */
export class TaskTokens {
  private readonly tokens = new Map<string, TaskToken>();

  add(token: TaskToken): void {
    this.tokens.set(token.record.token, token);
  }

  /** Open or closed. @throws ApiError `InvalidToken` for a garbled one, `TaskDoesNotExist` for one of another endpoint */
  find(token: string): TaskToken {
    const found = this.tokens.get(token);
    if (found !== undefined) return found;
    throw isWellFormed(token)
      ? new ApiError('TaskDoesNotExist', `Task Does Not Exist: 'Provided task does not exist'`)
      : new ApiError('InvalidToken', `Invalid Token: 'Invalid token'`);
  }

  records(): readonly TokenRecord[] {
    return Array.from(this.tokens.values(), ({ record }) => record);
  }
}
