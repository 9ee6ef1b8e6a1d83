import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  CreateStateMachineCommand,
  DeleteStateMachineCommand,
  DescribeExecutionCommand,
  DescribeStateMachineCommand,
  GetExecutionHistoryCommand,
  ListExecutionsCommand,
  ListStateMachinesCommand,
  SendTaskFailureCommand,
  SendTaskHeartbeatCommand,
  SendTaskSuccessCommand,
  StartExecutionCommand,
  StopExecutionCommand,
  UpdateStateMachineCommand,
  type ListExecutionsCommandInput,
} from '@aws-sdk/client-sfn';
import {
  defined,
  eventually,
  MACHINE_ARN_PREFIX,
  QUEUE_URL,
  ROLE_ARN,
  StepFunctionsFixture,
  workMachine,
} from './step-functions.fixture.js';

const PASS = JSON.stringify({ StartAt: 'Done', States: { Done: { Type: 'Pass', End: true } } });
const ABSENT_MACHINE = `${MACHINE_ARN_PREFIX}absent`;
const ABSENT_EXECUTION = 'arn:aws:states:eu-west-1:000000000000:execution:work:absent';
const TOO_LONG = 'x'.repeat(262_145);

describe('the API of the embedded Step Functions', () => {
  let fixture: StepFunctionsFixture;

  beforeEach(async () => {
    fixture = await StepFunctionsFixture.start();
  });

  afterEach(() => fixture.close());

  const create = (definition: string, name = 'work') =>
    fixture.client.send(new CreateStateMachineCommand({ name, definition, roleArn: ROLE_ARN }));
  const start = (stateMachineArn: string, name?: string, input?: string) =>
    fixture.client.send(new StartExecutionCommand({ stateMachineArn, name, input }));

  describe('state machines', () => {
    it('are created once, described as they were sent, listed, and deleted', async () => {
      const { stateMachineArn, creationDate } = await create(PASS);
      expect(stateMachineArn).toBe(`${MACHINE_ARN_PREFIX}work`);
      expect(creationDate).toBeInstanceOf(Date);
      expect((await create(PASS)).stateMachineArn).toBe(stateMachineArn);
      const described = await fixture.client.send(new DescribeStateMachineCommand({ stateMachineArn }));
      expect(described).toMatchObject({
        name: 'work',
        definition: PASS,
        roleArn: ROLE_ARN,
        status: 'ACTIVE',
        type: 'STANDARD',
        creationDate,
      });
      const { stateMachines } = await fixture.client.send(new ListStateMachinesCommand({}));
      expect(stateMachines).toEqual([{ stateMachineArn, name: 'work', type: 'STANDARD', creationDate }]);

      await fixture.client.send(new DeleteStateMachineCommand({ stateMachineArn }));
      await expect(fixture.client.send(new DescribeStateMachineCommand({ stateMachineArn }))).rejects.toMatchObject({
        name: 'StateMachineDoesNotExist',
        message: `State Machine Does Not Exist: '${stateMachineArn}'`,
      });
    });

    it('keep their name to one definition until they are updated', async () => {
      const { stateMachineArn } = await create(PASS);
      await expect(create(workMachine())).rejects.toMatchObject({ name: 'StateMachineAlreadyExists' });
      await fixture.client.send(new UpdateStateMachineCommand({ stateMachineArn, definition: workMachine() }));
      const { definition, roleArn } = await fixture.client.send(new DescribeStateMachineCommand({ stateMachineArn }));
      expect([definition, roleArn]).toEqual([workMachine(), ROLE_ARN]);
      await expect(fixture.client.send(new UpdateStateMachineCommand({ stateMachineArn }))).rejects.toMatchObject({
        name: 'MissingRequiredParameter',
      });
    });

    it('leave a running execution with the definition it began with', async () => {
      const arn = await fixture.run(workMachine({}, {}, { Comment: 'first' }));
      const stateMachineArn = `${MACHINE_ARN_PREFIX}work`;
      await fixture.client.send(new UpdateStateMachineCommand({ stateMachineArn, definition: PASS }));
      await fixture.succeed(await fixture.token(), 'of the first');
      expect(await fixture.ended(arn)).toMatchObject({ output: '"of the first"' });
    });

    it.each([
      ['is not JSON', '{', ''],
      ['breaks the schema', '{"StartAt":"A","States":{"A":{"Type":"Nap","End":true}}}', ''],
      ['leads nowhere', '{"StartAt":"A","States":{"A":{"Type":"Pass","Next":"B"}}}', ''],
      ['has a task for another service', workMachine({ Resource: 'arn:aws:states:::lambda:invoke' }), 'is not recognized'],
      ['has a task without a queue', workMachine({ Parameters: { MessageBody: '' } }), "'QueueUrl' is required"],
      ['has a task without a body', workMachine({ Parameters: { QueueUrl: QUEUE_URL } }), "'MessageBody' is required"],
      [
        'lets a task time out before its heartbeat',
        workMachine({ HeartbeatSeconds: 5, TimeoutSeconds: 5 }),
        'must be smaller than TimeoutSeconds',
      ],
      ['has both a limit and a path to it', workMachine({ TimeoutSeconds: 5, TimeoutSecondsPath: '$.limit' }), 'TASK_TIMEOUT'],
      [
        'is written in JSONata',
        '{"QueryLanguage":"JSONata","StartAt":"A","States":{"A":{"Type":"Pass","End":true}}}',
        'JSONata is not supported',
      ],
      ['assigns variables', '{"StartAt":"A","States":{"A":{"Type":"Pass","Assign":{"x":1},"End":true}}}', 'Assign is not supported'],
    ])('are refused when the definition %s', async (_name, definition, reason) => {
      await expect(create(definition)).rejects.toMatchObject({
        name: 'InvalidDefinition',
        message: expect.stringMatching(/^Invalid State Machine Definition: '/),
      });
      await expect(create(definition)).rejects.toThrow(reason);
    });

    it('are refused as Express ones: these cannot wait for a token', async () => {
      const express = new CreateStateMachineCommand({ name: 'work', definition: PASS, roleArn: ROLE_ARN, type: 'EXPRESS' });
      await expect(fixture.client.send(express)).rejects.toMatchObject({ name: 'InvalidDefinition' });
    });
  });

  describe('executions', () => {
    it('run with the name, input and machine they were started with', async () => {
      const { stateMachineArn } = await create(PASS);
      const { executionArn, startDate } = await start(defined(stateMachineArn), 'first', '{"a":1}');
      expect(executionArn).toBe('arn:aws:states:eu-west-1:000000000000:execution:work:first');
      const ended = await fixture.ended(defined(executionArn));
      expect(ended).toMatchObject({
        executionArn,
        stateMachineArn,
        name: 'first',
        status: 'SUCCEEDED',
        startDate,
        input: '{"a":1}',
        output: '{"a":1}',
      });
      expect(defined(ended.stopDate).getTime()).toBeGreaterThanOrEqual(defined(startDate).getTime());
    });

    it('get a name and an empty input when none is given', async () => {
      const { stateMachineArn } = await create(PASS);
      const { executionArn } = await start(defined(stateMachineArn));
      expect(await fixture.describe(defined(executionArn))).toMatchObject({ name: expect.stringMatching(/^[0-9a-f-]{36}$/), input: '{}' });
    });

    it('are started once for the same name and input while they run', async () => {
      const first = await fixture.run(workMachine(), { a: 1 }, 'same');
      const machineArn = `${MACHINE_ARN_PREFIX}work`;
      expect((await start(machineArn, 'same', '{"a":1}')).executionArn).toBe(first);
      const taken = { name: 'ExecutionAlreadyExists', message: `Execution Already Exists: '${first}'` };
      await expect(start(machineArn, 'same', '{"a":2}')).rejects.toMatchObject(taken);
      await fixture.succeed(await fixture.token());
      await fixture.ended(first);
      await expect(start(machineArn, 'same', '{"a":1}')).rejects.toMatchObject(taken);
      expect(fixture.sent).toHaveLength(1);
    });

    it('fail with what a Fail state says, if it says anything', async () => {
      const failing = (state: object) => JSON.stringify({ StartAt: 'No', States: { No: { Type: 'Fail', ...state } } });
      const [said, silent] = [await create(failing({ Error: 'E', Cause: 'C' }), 'said'), await create(failing({}), 'silent')];
      const outcomes = [];
      for (const { stateMachineArn } of [said, silent]) {
        const { executionArn } = await start(defined(stateMachineArn));
        const { status, error, cause } = await fixture.ended(defined(executionArn));
        outcomes.push([status, error, cause]);
      }
      expect(outcomes).toEqual([
        ['FAILED', 'E', 'C'],
        ['FAILED', undefined, undefined],
      ]);
    });

    it('stay as they ended when they are stopped afterwards', async () => {
      const arn = await fixture.run(PASS);
      const { stopDate } = await fixture.ended(arn);
      expect(await fixture.client.send(new StopExecutionCommand({ executionArn: arn, error: 'Late' }))).toMatchObject({ stopDate });
      expect(await fixture.describe(arn)).toMatchObject({ status: 'SUCCEEDED' });
    });

    it('are listed newest first, by status, in pages that new executions do not shift', async () => {
      const stateMachineArn = await fixture.createMachine(workMachine());
      const names = async (input: Omit<ListExecutionsCommandInput, 'stateMachineArn'>) => {
        const { executions, nextToken } = await fixture.client.send(new ListExecutionsCommand({ stateMachineArn, ...input }));
        return { names: defined(executions).map(({ name }) => name), nextToken };
      };
      for (const name of ['a', 'b', 'c']) await start(stateMachineArn, name);
      const page = await names({ maxResults: 2 });
      expect(page.names).toEqual(['c', 'b']);
      await start(stateMachineArn, 'd');
      expect(await names({ maxResults: 2, nextToken: page.nextToken })).toEqual({ names: ['a'], nextToken: undefined });
      await fixture.succeed(await fixture.token(1));
      await eventually(async () => (await names({ statusFilter: 'SUCCEEDED' })).names.join() === 'a');
      expect((await names({ statusFilter: 'RUNNING' })).names).toEqual(['d', 'c', 'b']);
      await expect(names({ nextToken: 'made up' })).rejects.toMatchObject({ name: 'InvalidToken' });
      await expect(names({ maxResults: 1_001 })).rejects.toMatchObject({ name: 'ValidationException' });
      await expect(names({ statusFilter: 'DONE' as never })).rejects.toMatchObject({ name: 'ValidationException' });
    });

    it('show their history in either direction and in pages', async () => {
      const arn = await fixture.run(PASS);
      await fixture.ended(arn);
      const order = ['ExecutionStarted', 'PassStateEntered', 'PassStateExited', 'ExecutionSucceeded'];
      expect(await fixture.eventTypes(arn)).toEqual(order);
      const reversed = await fixture.client.send(new GetExecutionHistoryCommand({ executionArn: arn, reverseOrder: true, maxResults: 3 }));
      expect(reversed.events?.map(({ id, type }) => [id, type])).toEqual([4, 3, 2].map((id) => [id, order[id - 1]]));
      const rest = await fixture.client.send(
        new GetExecutionHistoryCommand({ executionArn: arn, reverseOrder: true, nextToken: reversed.nextToken }),
      );
      expect(rest.events).toMatchObject([{ id: 1, previousEventId: 0, executionStartedEventDetails: { input: '{}', roleArn: ROLE_ARN } }]);
      expect(rest.nextToken).toBeUndefined();
    });
  });

  describe('refuses', () => {
    const machineArn = `${MACHINE_ARN_PREFIX}work`;

    beforeEach(() => create(PASS));

    it.each([
      'a b',
      'a/b',
      'a:b',
      'a*',
      'a?',
      'a{b}',
      'a<b>',
      'a[b]',
      'a"b',
      'a#b',
      'a%b',
      'a\\b',
      'a^b',
      'a|b',
      'a~b',
      'a`b',
      'a$b',
      'a&b',
      'a,b',
      'a;b',
      'a\u0007b',
    ])('the name %j', async (name) => {
      await expect(start(machineArn, name)).rejects.toMatchObject({ name: 'InvalidName', message: `Invalid Name: '${name}'` });
    });

    it('no name that may be a job id', async () => {
      await expect(start(machineArn, "Az09._+!@='()-")).resolves.toBeDefined();
    });

    it.each([
      ['a name of 81 characters', () => start(machineArn, 'x'.repeat(81)), 'ValidationException'],
      ['an empty name', () => start(machineArn, ''), 'ValidationException'],
      ['an input that is not JSON', () => start(machineArn, 'n', '{'), 'InvalidExecutionInput'],
      ['an input over 262,144 bytes', () => start(machineArn, 'n', JSON.stringify('é'.repeat(131_072))), 'ValidationException'],
      ['a start of an absent machine', () => start(ABSENT_MACHINE), 'StateMachineDoesNotExist'],
      ['an ARN that is none', () => start('work'), 'InvalidArn'],
      ['the ARN of another kind', () => start(ABSENT_EXECUTION), 'InvalidArn'],
      [
        'a machine without a role',
        () => fixture.client.send(new CreateStateMachineCommand({ name: 'n', definition: PASS, roleArn: undefined })),
        'ValidationException',
      ],
      [
        'executions of an absent machine',
        () => fixture.client.send(new ListExecutionsCommand({ stateMachineArn: ABSENT_MACHINE })),
        'StateMachineDoesNotExist',
      ],
      ['to describe an absent execution', () => fixture.describe(ABSENT_EXECUTION), 'ExecutionDoesNotExist'],
      ['the history of an absent execution', () => fixture.eventTypes(ABSENT_EXECUTION), 'ExecutionDoesNotExist'],
      [
        'to stop an absent execution',
        () => fixture.client.send(new StopExecutionCommand({ executionArn: ABSENT_EXECUTION })),
        'ExecutionDoesNotExist',
      ],
      [
        'to describe a machine as an execution',
        () => fixture.client.send(new DescribeExecutionCommand({ executionArn: machineArn })),
        'InvalidArn',
      ],
    ])('%s', async (_name, call, error) => {
      await expect(call()).rejects.toMatchObject({ name: error, $metadata: { httpStatusCode: 400 } });
    });

    it('with the messages of AWS', async () => {
      await expect(start(ABSENT_EXECUTION)).rejects.toThrow("Invalid Arn: 'Resource type not valid in this context: execution'");
      await expect(fixture.describe(ABSENT_EXECUTION)).rejects.toThrow(`Execution Does Not Exist: '${ABSENT_EXECUTION}'`);
      await expect(start(machineArn, 'x'.repeat(81))).rejects.toThrow(
        "1 validation error detected: Value at 'name' failed to satisfy constraint: Member must have length less than or equal to 80",
      );
    });

    it('an operation it does not have, and a body that is not JSON', async () => {
      const post = async (operation: string, body: string) => {
        const headers = { 'x-amz-target': `AWSStepFunctions.${operation}`, 'content-type': 'application/x-amz-json-1.0' };
        const response = await fetch(fixture.endpoint.url, { method: 'POST', headers, body });
        return [response.status, response.headers.get('x-amzn-errortype'), await response.json()];
      };
      expect(await post('CreateActivity', '{}')).toMatchObject([400, 'UnknownOperationException', { __type: 'UnknownOperationException' }]);
      expect(await post('ListStateMachines', 'no')).toMatchObject([400, 'SerializationException', { __type: 'SerializationException' }]);
      expect(await post('ListStateMachines', '{"maxResults":"1"}')).toMatchObject([400, 'SerializationException', {}]);
      expect(fixture.log.records.slice(-3)).toMatchObject([
        { operation: 'CreateActivity', status: 400, error: 'UnknownOperationException' },
        {},
        {},
      ]);
    });
  });

  describe('tells a worker', () => {
    const beat = (taskToken: string) => fixture.client.send(new SendTaskHeartbeatCommand({ taskToken }));

    it('that a garbled token is invalid', async () => {
      await fixture.run(workMachine());
      const token = await fixture.token();
      const garbled = `${token.slice(0, 100)}${token[100] === 'A' ? 'B' : 'A'}${token.slice(101)}`;
      const invalid = { name: 'InvalidToken', message: "Invalid Token: 'Invalid token'" };
      await expect(beat(garbled)).rejects.toMatchObject(invalid);
      await expect(beat('garbled')).rejects.toMatchObject(invalid);
      await expect(fixture.succeed(token.slice(1))).rejects.toMatchObject(invalid);
    });

    it('that the task of another endpoint does not exist', async () => {
      const other = await StepFunctionsFixture.start();
      try {
        await other.run(workMachine());
        await expect(beat(await other.token())).rejects.toMatchObject({ name: 'TaskDoesNotExist' });
      } finally {
        await other.close();
      }
    });

    it('that a request breaks a limit, and leaves the token open', async () => {
      const arn = await fixture.run(workMachine());
      const taskToken = await fixture.token();
      const fail = (error?: string, cause?: string) => fixture.client.send(new SendTaskFailureCommand({ taskToken, error, cause }));
      const refused = { name: 'ValidationException' };
      await expect(beat('')).rejects.toMatchObject(refused);
      await expect(beat('x'.repeat(2_049))).rejects.toMatchObject(refused);
      await expect(fixture.client.send(new SendTaskHeartbeatCommand({ taskToken: undefined }))).rejects.toMatchObject(refused);
      await expect(fail('x'.repeat(257))).rejects.toMatchObject(refused);
      await expect(fail('E', 'x'.repeat(32_769))).rejects.toMatchObject(refused);
      await expect(fail('States.Timeout')).rejects.toMatchObject(refused);
      await expect(fixture.client.send(new SendTaskSuccessCommand({ taskToken, output: TOO_LONG }))).rejects.toMatchObject(refused);
      expect(await fixture.describe(arn)).toMatchObject({ status: 'RUNNING' });
      await fail('x'.repeat(256), 'x'.repeat(32_768));
      expect(await fixture.ended(arn)).toMatchObject({ status: 'FAILED', error: 'x'.repeat(256) });
    });

    it('that an output of exactly 262,144 bytes is taken', async () => {
      const arn = await fixture.run(workMachine());
      await fixture.succeed(await fixture.token(), 'x'.repeat(262_142));
      expect((await fixture.ended(arn)).output).toHaveLength(262_144);
    });
  });
});
