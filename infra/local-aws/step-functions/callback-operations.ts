import { MAX_PAYLOAD_BYTES, optionalText, requiredText, violation, type Fields } from './fields.js';
import type { LogNote, Operation } from './operation.js';
import type { TaskAnswer, TaskToken } from './task-token.js';
import type { TaskTokens } from './task-tokens.js';

/** What a worker does with a task token. A closed token is told TaskTimedOut, whatever closed it. */
export function callbackOperations(tokens: TaskTokens): Record<string, Operation> {
  const answer = (fields: Fields, note: LogNote, given: TaskAnswer) => {
    const taskError = given.kind === 'failure' ? given.error : undefined;
    const token = tokenOf(tokens, fields, note, { answer: given.kind, ...(taskError === undefined ? {} : { taskError }) });
    token.answer(given);
    return {};
  };
  return {
    SendTaskHeartbeat(fields, note) {
      tokenOf(tokens, fields, note, {}).heartbeat();
      return {};
    },
    SendTaskSuccess(fields, note) {
      const output = requiredText(fields, 'output', { max: MAX_PAYLOAD_BYTES, unit: 'bytes' });
      return answer(fields, note, { kind: 'success', output });
    },
    SendTaskFailure(fields, note) {
      const error = optionalText(fields, 'error', { max: 256 });
      if (error?.startsWith('States.')) throw violation('error', 'Member must not begin with the reserved prefix States.');
      const cause = optionalText(fields, 'cause', { max: 32_768 });
      return answer(fields, note, {
        kind: 'failure',
        ...(error === undefined ? {} : { error }),
        ...(cause === undefined ? {} : { cause }),
      });
    },
  };
}

function tokenOf(tokens: TaskTokens, fields: Fields, note: LogNote, detail: Record<string, unknown>): TaskToken {
  const token = tokens.find(requiredText(fields, 'taskToken', { min: 1, max: 2_048 }));
  const { executionArn, stateName, attempt } = token.record;
  note.resource = executionArn;
  note.detail = { state: stateName, attempt, ...detail };
  return token;
}
