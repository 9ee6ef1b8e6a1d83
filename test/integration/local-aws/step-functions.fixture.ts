import {
  CreateStateMachineCommand,
  DescribeExecutionCommand,
  GetExecutionHistoryCommand,
  SendTaskSuccessCommand,
  SFNClient,
  StartExecutionCommand,
  type DescribeExecutionCommandOutput,
  type HistoryEvent,
} from '@aws-sdk/client-sfn';
import { RequestLog } from '../../../infra/local-aws/request-log.js';
import { startStepFunctionsEndpoint, type StepFunctionsEndpoint } from '../../../infra/local-aws/step-functions/index.js';
import { eventually } from '../../support/local-aws.js';

export { eventually };

export const QUEUE_URL = 'http://127.0.0.1/000000000000/jobs';
export const ROLE_ARN = 'arn:aws:iam::000000000000:role/export';
export const MACHINE_ARN_PREFIX = 'arn:aws:states:eu-west-1:000000000000:stateMachine:';

export interface SentMessage {
  queueUrl: string;
  body: string;
  messageGroupId?: string;
}

/** A callback task `Work` on the queue; `task` and `others` change or add to it. */
export function workMachine(task: object = {}, others: object = {}, machine: object = {}): string {
  const work = {
    Type: 'Task',
    Resource: 'arn:aws:states:::sqs:sendMessage.waitForTaskToken',
    Parameters: { QueueUrl: QUEUE_URL, MessageBody: { 'taskToken.$': '$$.Task.Token', 'input.$': '$' } },
    End: true,
    ...task,
  };
  return JSON.stringify({ StartAt: 'Work', States: { Work: work, ...others }, ...machine });
}

/** The endpoint with a real client, and a queue that only remembers. */
export class StepFunctionsFixture {
  readonly sent: SentMessage[] = [];
  /** Set: sending rejects with it. */
  sendError: Error | undefined;
  /** Set: sending answers only after it; the message is there before. */
  sending: Promise<void> | undefined;

  private constructor(
    readonly endpoint: StepFunctionsEndpoint,
    readonly client: SFNClient,
    readonly log: RequestLog,
  ) {}

  static async start(): Promise<StepFunctionsFixture> {
    const log = new RequestLog();
    const endpoint = await startStepFunctionsEndpoint({
      region: 'eu-west-1',
      accountId: '000000000000',
      log,
      sendMessage: async (queueUrl, body, options) => {
        if (fixture.sendError !== undefined) throw fixture.sendError;
        fixture.sent.push({ queueUrl, body, ...options });
        await fixture.sending;
        return { messageId: `message-${fixture.sent.length}` };
      },
    });
    const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
    const client = new SFNClient({ endpoint: endpoint.url, region: 'eu-west-1', credentials, maxAttempts: 1 });
    const fixture = new StepFunctionsFixture(endpoint, client, log);
    return fixture;
  }

  async close(): Promise<void> {
    this.client.destroy();
    await this.endpoint.close();
  }

  async createMachine(definition: string, name = 'work'): Promise<string> {
    const { stateMachineArn } = await this.client.send(new CreateStateMachineCommand({ name, definition, roleArn: ROLE_ARN }));
    return defined(stateMachineArn);
  }

  /** Creates the machine and starts it once. Answers the execution's ARN. */
  async run(definition: string, input: unknown = {}, name?: string): Promise<string> {
    const stateMachineArn = await this.createMachine(definition);
    const { executionArn } = await this.client.send(new StartExecutionCommand({ stateMachineArn, input: JSON.stringify(input), name }));
    return defined(executionArn);
  }

  /** The token in the n-th message (from 1), once it is sent. */
  async token(n = 1): Promise<string> {
    await eventually(() => this.sent.length >= n);
    const { taskToken } = JSON.parse(defined(this.sent[n - 1]).body) as { taskToken: string };
    return taskToken;
  }

  async succeed(taskToken: string, output: unknown = {}): Promise<void> {
    await this.client.send(new SendTaskSuccessCommand({ taskToken, output: JSON.stringify(output) }));
  }

  describe(executionArn: string): Promise<DescribeExecutionCommandOutput> {
    return this.client.send(new DescribeExecutionCommand({ executionArn }));
  }

  async ended(executionArn: string): Promise<DescribeExecutionCommandOutput> {
    await eventually(async () => (await this.describe(executionArn)).status !== 'RUNNING');
    return this.describe(executionArn);
  }

  async history(executionArn: string): Promise<HistoryEvent[]> {
    const { events } = await this.client.send(new GetExecutionHistoryCommand({ executionArn }));
    return defined(events);
  }

  async eventTypes(executionArn: string): Promise<(string | undefined)[]> {
    return (await this.history(executionArn)).map(({ type }) => type);
  }
}

export function defined<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('expected a value');
  return value;
}
