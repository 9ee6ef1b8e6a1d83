import { listen } from '../listen.js';
import type { RequestLog } from '../request-log.js';
import { callbackOperations } from './callback-operations.js';
import { executionOperations } from './execution-operations.js';
import { createApiServer } from './http-api.js';
import { machineOperations } from './machine-operations.js';
import { StepFunctionsStore } from './store.js';
import type { SendMessage } from './task.js';
import type { TokenRecord } from './task-token.js';

export type { TokenRecord } from './task-token.js';

export interface StepFunctionsOptions {
  /** Default: any free one. */
  port?: number;
  /** Gets one record per request: service `states`, the execution's or machine's ARN, and of a token its state, attempt and answer. */
  log?: RequestLog;
  region: string;
  accountId: string;
  /** Puts a task's message on its queue. A rejection fails the task with `SQS.SqsException`. */
  sendMessage: SendMessage;
}

export interface StepFunctionsEndpoint {
  readonly url: string;
  /** Aborts what runs, closes its tokens, hangs up on clients. */
  close(): Promise<void>;
  /** Every token ever issued, oldest first: facts for tests and the demo, never shown over HTTP. */
  tokens(): readonly TokenRecord[];
}

/**
 * Step Functions on the loopback address: the API's errors and limits, tasks that send to SQS and wait for their token,
 * heartbeats and timeouts enforced from TaskStarted. Standard machines written in JSONPath; everything is held in memory.
 * @throws Error with code `EADDRINUSE`
 */
export async function startStepFunctionsEndpoint(options: StepFunctionsOptions): Promise<StepFunctionsEndpoint> {
  const { region, accountId, sendMessage, log, port } = options;
  const store = new StepFunctionsStore();
  const arnPrefix = `arn:aws:states:${region}:${accountId}`;
  const operations = {
    ...machineOperations(store, arnPrefix),
    ...executionOperations(store, { arnPrefix, region, sendMessage }),
    ...callbackOperations(store.tokens),
  };
  const server = createApiServer(new Map(Object.entries(operations)), log);
  const url = await listen(server, port);
  return {
    url,
    tokens: () => store.tokens.records(),
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await Promise.all([closed, ...Array.from(store.executions.values(), (execution) => execution.stop())]);
    },
  };
}
