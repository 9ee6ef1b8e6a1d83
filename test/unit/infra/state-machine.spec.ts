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
      Parameters: { QueueUrl: string };
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

  it('catches everything, timeouts by name, in Fail states that carry the error', () => {
    const { Catch } = machineOf().States.ExportFiles;
    const { States } = machineOf();
    expect(first(Catch, 'States.Timeout')?.ErrorEquals).toEqual(['States.Timeout', 'States.HeartbeatTimeout']);
    expect(Catch.at(-1)?.ErrorEquals).toEqual(['States.ALL']);
    const targets = Catch.map(({ Next = '' }) => States[Next]);
    expect(targets).toMatchObject([
      { Type: 'Fail', ErrorPath: '$.Error' },
      { Type: 'Fail', ErrorPath: '$.Error', CausePath: '$.Cause' },
    ]);
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
