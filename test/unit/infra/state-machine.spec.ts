import { describe, expect, it } from '@jest/globals';
import { StateMachine, type StateMachineDefinition } from 'aws-local-stepfunctions';
import { exportStateMachine } from '../../../infra/state-machine/index.js';

interface Matcher {
  ErrorEquals: string[];
  MaxAttempts?: number;
  IntervalSeconds?: number;
  Next?: string;
}

interface Machine {
  StartAt: string;
  States: Record<string, Record<string, unknown>> & {
    ExportFiles: {
      Resource: string;
      Parameters: { QueueUrl: string; 'MessageBody.$': string };
      HeartbeatSeconds: number;
      TimeoutSeconds: number;
      Retry: Matcher[];
      Catch: Matcher[];
    };
  };
}

const QUEUE_URL = 'https://sqs.eu-west-1.amazonaws.com/111122223333/jobs';
const machineOf = (parameters: object = {}) => JSON.parse(exportStateMachine({ jobsQueueUrl: QUEUE_URL, ...parameters })) as Machine;
const first = (matchers: Matcher[], error: string) =>
  matchers.find(({ ErrorEquals }) => ErrorEquals.includes(error) || ErrorEquals.includes('States.ALL'));

describe('the shipped state machine', () => {
  it('is valid in the states language', () => {
    const definition = machineOf() as unknown as StateMachineDefinition;
    expect(() => new StateMachine(definition, { validationOptions: { checkArn: false } })).not.toThrow();
  });

  it('waits for the token of a message on the jobs queue', () => {
    const { Resource, Parameters } = machineOf().States.ExportFiles;
    expect([Resource, Parameters.QueueUrl]).toEqual(['arn:aws:states:::sqs:sendMessage.waitForTaskToken', QUEUE_URL]);
  });

  it('gives five heartbeat intervals of 30 s to a heartbeat and a day to a job', () => {
    const { HeartbeatSeconds, TimeoutSeconds } = machineOf().States.ExportFiles;
    expect([HeartbeatSeconds, TimeoutSeconds]).toEqual([150, 86_400]);
  });

  it('retries both timeouts twice after a modest interval', () => {
    const { Retry } = machineOf().States.ExportFiles;
    for (const error of ['States.Timeout', 'States.HeartbeatTimeout']) {
      expect(first(Retry, error)).toMatchObject({ MaxAttempts: 2, IntervalSeconds: 10 });
    }
  });

  it.each(['DestinationRefused', 'ExportCancelled', 'InvalidExportRequest', 'JobIdConflict'])('never retries %s', (error) => {
    expect(first(machineOf().States.ExportFiles.Retry, error)).toMatchObject({ MaxAttempts: 0 });
  });

  it('catches everything, timeouts by name, and ends in Fail states', () => {
    const { Catch } = machineOf().States.ExportFiles;
    const { States } = machineOf();
    expect(first(Catch, 'States.Timeout')).toEqual({ ErrorEquals: ['States.Timeout', 'States.HeartbeatTimeout'], Next: 'ExportTimedOut' });
    expect(Catch.at(-1)).toEqual({ ErrorEquals: ['States.ALL'], Next: 'WhoFailed' });
    expect(States).toMatchObject({
      ExportTimedOut: { Type: 'Fail', Error: 'ExportTimedOut' },
      WhoFailed: { Type: 'Choice', Choices: [{ Next: 'ExportFailed' }], Default: 'NameFailure' },
      NameFailure: { Parameters: { Error: 'ExportStateFailed' }, Next: 'ExportFailed' },
      ExportFailed: { Type: 'Fail', ErrorPath: '$.Error', CausePath: '$.Cause' },
    });
  });

  it('writes the message without an escape, which moto and LocalStack cannot read in States.Format', () => {
    const body = machineOf().States.ExportFiles.Parameters['MessageBody.$'];
    expect(body).not.toContain('\\');
    expect(body.replaceAll('{}', '')).not.toMatch(/[{}"]/);
    const pieces = [...body.matchAll(/Base64Decode\('([^']*)'\)/g)].map(([, piece = '']) => Buffer.from(piece, 'base64').toString());
    expect(pieces).toEqual(['{"jobId":"', '","taskToken":"', '"}']);
    expect(JSON.parse(pieces.join('x'))).toEqual({ jobId: 'x', taskToken: 'x' });
  });

  it.each([
    ['passes on what the service answered', { Error: 'JobStalled', Cause: 'why' }, ['JobStalled', 'why']],
    [
      'names in our words what Step Functions says: no name of ours may begin with `States.`',
      { Error: 'States.Permissions', Cause: 'no role' },
      ['ExportStateFailed', '{"Error":"States.Permissions","Cause":"no role"}'],
    ],
    ['does not ask for a cause that is absent', { Error: 'Any' }, ['ExportStateFailed', '{"Error":"Any"}']],
    ['nor for a name', {}, ['ExportStateFailed', '{}']],
  ])('%s', async (_, caught, [error, cause]) => {
    const { ExportFiles: _task, ExportTimedOut: _timeout, ...States } = machineOf().States;
    const engine = new StateMachine({ StartAt: 'WhoFailed', States } as unknown as StateMachineDefinition);
    await expect(engine.run(caught).result).rejects.toMatchObject({ cause: { name: error, message: cause } });
  });

  it('takes its limits as parameters', () => {
    const task = machineOf({ heartbeatSeconds: 4, timeoutSeconds: 60, retryIntervalSeconds: 1, maxAttempts: 0 }).States.ExportFiles;
    expect(task).toMatchObject({ HeartbeatSeconds: 4, TimeoutSeconds: 60 });
    expect(first(task.Retry, 'States.Timeout')).toMatchObject({ IntervalSeconds: 1, MaxAttempts: 0 });
    expect(first(task.Retry, 'ExportCancelled')).toEqual({
      ErrorEquals: ['DestinationRefused', 'ExportCancelled', 'InvalidExportRequest', 'JobIdConflict'],
      MaxAttempts: 0,
    });
  });

  it('leaves no placeholder behind', () => {
    expect(exportStateMachine({ jobsQueueUrl: QUEUE_URL })).not.toContain('${');
  });
});
