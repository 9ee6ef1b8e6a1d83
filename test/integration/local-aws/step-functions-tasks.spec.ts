import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SendTaskFailureCommand, SendTaskHeartbeatCommand, SendTaskSuccessCommand, StopExecutionCommand } from '@aws-sdk/client-sfn';
import { setTimeout as delay } from 'node:timers/promises';
import { defined, eventually, QUEUE_URL, StepFunctionsFixture, workMachine } from './step-functions.fixture.js';

const GONE = { name: 'TaskTimedOut', message: "Task Timed Out: 'Provided task does not exist anymore'" };

const NEVER_RETRIED = [{ ErrorEquals: ['States.ALL'], MaxAttempts: 0 }];

describe('a task that waits for its token, in the embedded Step Functions', () => {
  let fixture: StepFunctionsFixture;

  beforeEach(async () => {
    fixture = await StepFunctionsFixture.start();
  });

  afterEach(() => fixture.close());

  const beat = (taskToken: string) => fixture.client.send(new SendTaskHeartbeatCommand({ taskToken }));
  const fail = (taskToken: string, error?: string, cause?: string) =>
    fixture.client.send(new SendTaskFailureCommand({ taskToken, error, cause }));
  const attemptsOf = () => fixture.endpoint.tokens().map(({ attempt, closed }) => ({ attempt, closed }));

  it('sends its message with a token and ends with the output it is answered', async () => {
    const arn = await fixture.run(workMachine(), { some: 'input' });
    const token = await fixture.token();
    expect(fixture.sent).toEqual([{ queueUrl: QUEUE_URL, body: JSON.stringify({ taskToken: token, input: { some: 'input' } }) }]);
    expect((await fixture.describe(arn)).status).toBe('RUNNING');

    await fixture.succeed(token, { files: 3 });
    expect(await fixture.ended(arn)).toMatchObject({ status: 'SUCCEEDED', output: '{"files":3}', input: '{"some":"input"}' });
  });

  it('sends a body that is text as it is, and the message group', async () => {
    await fixture.run(workMachine({ Parameters: { QueueUrl: QUEUE_URL, 'MessageBody.$': '$$.Task.Token', MessageGroupId: 'user-1' } }));
    await eventually(() => fixture.sent.length === 1);
    expect(fixture.sent).toEqual([{ queueUrl: QUEUE_URL, body: defined(fixture.endpoint.tokens()[0]).token, messageGroupId: 'user-1' }]);
  });

  it('knows the execution, the machine, the state and the retry in its context', async () => {
    const context = {
      'e.$': '$$.Execution.Input',
      'n.$': '$$.Execution.Name',
      'm.$': '$$.StateMachine.Name',
      's.$': '$$.State.Name',
      'r.$': '$$.State.RetryCount',
    };
    const definition = workMachine(
      { Parameters: { QueueUrl: QUEUE_URL, MessageBody: context } },
      { Before: { Type: 'Pass', Result: { other: 1 }, Next: 'Work' } },
      { StartAt: 'Before' },
    );
    await fixture.run(definition, { first: true }, 'named');
    await eventually(() => fixture.sent.length === 1);
    expect(JSON.parse(defined(fixture.sent[0]).body)).toEqual({ e: { first: true }, n: 'named', m: 'work', s: 'Work', r: 0 });
  });

  it('fails with the error and cause it is answered', async () => {
    const arn = await fixture.run(workMachine());
    await fail(await fixture.token(), 'JobStalled', 'no progress');
    expect(await fixture.ended(arn)).toMatchObject({ status: 'FAILED', error: 'JobStalled', cause: 'no progress' });
  });

  it('fails with neither error nor cause when it is answered so', async () => {
    const arn = await fixture.run(workMachine());
    await fail(await fixture.token());
    const ended = await fixture.ended(arn);
    expect([ended.status, ended.error, ended.cause]).toEqual(['FAILED', undefined, undefined]);
  });

  it('takes one answer: a second one is told that the task is gone, and recorded as not accepted', async () => {
    const arn = await fixture.run(workMachine());
    const token = await fixture.token();
    await fixture.succeed(token);
    await expect(fixture.succeed(token)).rejects.toMatchObject(GONE);
    await expect(fail(token, 'JobStalled')).rejects.toMatchObject(GONE);
    await expect(beat(token)).rejects.toMatchObject(GONE);
    expect(fixture.endpoint.tokens()).toMatchObject([
      {
        token,
        executionArn: arn,
        stateName: 'Work',
        attempt: 1,
        closed: 'success',
        heartbeats: [],
        answers: [
          { kind: 'success', accepted: true },
          { kind: 'success', accepted: false },
          { kind: 'failure', accepted: false, error: 'JobStalled' },
        ],
      },
    ]);
  });

  it('keeps the token open after an output that is not JSON', async () => {
    const arn = await fixture.run(workMachine());
    const token = await fixture.token();
    await expect(fixture.client.send(new SendTaskSuccessCommand({ taskToken: token, output: '{' }))).rejects.toMatchObject({
      name: 'InvalidOutput',
    });
    await fixture.succeed(token, 1);
    expect(await fixture.ended(arn)).toMatchObject({ status: 'SUCCEEDED', output: '1' });
    expect(defined(fixture.endpoint.tokens()[0]).answers.map(({ accepted }) => accepted)).toEqual([false, true]);
  });

  it('lives past HeartbeatSeconds while heartbeats come and ends in States.Timeout when they stop', async () => {
    const arn = await fixture.run(workMachine({ HeartbeatSeconds: 2 }));
    const token = await fixture.token();
    for (let i = 0; i < 4; i++) {
      await delay(700);
      await beat(token);
    }
    expect((await fixture.describe(arn)).status).toBe('RUNNING');
    const { error, cause, status, stopDate } = await fixture.ended(arn);
    expect([status, error, cause]).toEqual(['FAILED', 'States.Timeout', undefined]);
    await expect(beat(token)).rejects.toMatchObject(GONE);
    await expect(fixture.succeed(token)).rejects.toMatchObject(GONE);
    const record = defined(fixture.endpoint.tokens()[0]);
    expect(record).toMatchObject({ closed: 'timeout', answers: [{ accepted: false }] });
    expect(record.heartbeats).toHaveLength(4);
    expect(defined(stopDate).getTime() - defined(record.heartbeats[3])).toBeGreaterThanOrEqual(1_950);
  });

  it('ends in States.Timeout after TimeoutSeconds, heartbeats or not', async () => {
    const arn = await fixture.run(workMachine({ HeartbeatSeconds: 2, TimeoutSeconds: 3 }));
    const token = await fixture.token();
    while ((await fixture.describe(arn)).status === 'RUNNING') {
      // It may have ended since it was looked at.
      await beat(token).catch((error: unknown) => expect(error).toMatchObject(GONE));
      await Promise.race([delay(500), fixture.ended(arn)]);
    }
    const { status, error, stopDate } = await fixture.describe(arn);
    expect([status, error]).toEqual(['FAILED', 'States.Timeout']);
    const record = defined(fixture.endpoint.tokens()[0]);
    expect(defined(stopDate).getTime() - record.startedAtMs).toBeGreaterThanOrEqual(2_950);
    expect(record.heartbeats.length).toBeGreaterThanOrEqual(2);
  });

  it('reads both limits from the input when the state says so', async () => {
    const arn = await fixture.run(workMachine({ HeartbeatSecondsPath: '$.beat', TimeoutSecondsPath: '$.limit' }), { beat: 1, limit: 77 });
    await fixture.ended(arn);
    const events = await fixture.history(arn);
    const scheduled = events.find(({ type }) => type === 'TaskScheduled');
    expect(scheduled?.taskScheduledEventDetails).toMatchObject({ heartbeatInSeconds: 1, timeoutInSeconds: 77 });
  });

  it('is retried with a fresh token, not before the growing interval', async () => {
    const retry = [{ ErrorEquals: ['States.Timeout', 'Flaky'], IntervalSeconds: 1, BackoffRate: 2, MaxAttempts: 2 }];
    const arn = await fixture.run(workMachine({ HeartbeatSeconds: 1, Retry: retry }));
    const first = await fixture.token(1);
    const second = await fixture.token(2);
    await expect(fixture.succeed(first)).rejects.toMatchObject(GONE);
    await fail(second, 'Flaky');
    const third = await fixture.token(3);
    await fixture.succeed(third, 'third');
    expect(await fixture.ended(arn)).toMatchObject({ status: 'SUCCEEDED', output: '"third"' });
    expect(new Set([first, second, third]).size).toBe(3);
    expect(attemptsOf()).toEqual([
      { attempt: 1, closed: 'timeout' },
      { attempt: 2, closed: 'failure' },
      { attempt: 3, closed: 'success' },
    ]);
    const startedAtMs = fixture.endpoint.tokens().map((record) => record.startedAtMs);
    expect(defined(startedAtMs[1]) - defined(startedAtMs[0])).toBeGreaterThanOrEqual(1_950);
    expect(defined(startedAtMs[2]) - defined(startedAtMs[1])).toBeGreaterThanOrEqual(1_950);
  });

  it('is retried by the name of its error only, as often as the retrier says', async () => {
    const retry = [{ ErrorEquals: ['Flaky'], IntervalSeconds: 1, MaxAttempts: 1 }, ...NEVER_RETRIED];
    const arn = await fixture.run(workMachine({ Retry: retry }));
    await fail(await fixture.token(1), 'Flaky');
    await fail(await fixture.token(2), 'Flaky', 'again');
    expect(await fixture.ended(arn)).toMatchObject({ status: 'FAILED', error: 'Flaky', cause: 'again' });
    expect(attemptsOf()).toHaveLength(2);
  });

  it.each([
    ['States.Timeout', ['States.Timeout'], 'Caught'],
    ['States.HeartbeatTimeout', ['States.HeartbeatTimeout'], 'Caught'],
    ['States.ALL', ['States.ALL'], 'Caught'],
    ['States.TaskFailed, which does not match it', ['States.TaskFailed'], undefined],
  ])('surfaces a missed heartbeat to %s', async (_name, ErrorEquals, caught) => {
    const states = { Caught: { Type: 'Pass', Result: 'Caught', End: true } };
    const arn = await fixture.run(workMachine({ HeartbeatSeconds: 1, Catch: [{ ErrorEquals, Next: 'Caught' }] }, states));
    const { status, output, error } = await fixture.ended(arn);
    expect([status, output, error]).toEqual(caught ? ['SUCCEEDED', '"Caught"', undefined] : ['FAILED', undefined, 'States.Timeout']);
  });

  it('does not take its TimeoutSeconds for a missed heartbeat', async () => {
    const states = { Caught: { Type: 'Pass', End: true } };
    const arn = await fixture.run(
      workMachine({ TimeoutSeconds: 1, Catch: [{ ErrorEquals: ['States.HeartbeatTimeout'], Next: 'Caught' }] }, states),
    );
    expect(await fixture.ended(arn)).toMatchObject({ status: 'FAILED', error: 'States.Timeout' });
  });

  it('hands error and cause to Catch', async () => {
    const states = { Caught: { Type: 'Pass', End: true } };
    const arn = await fixture.run(
      workMachine({ Catch: [{ ErrorEquals: ['States.TaskFailed'], Next: 'Caught', ResultPath: '$.failure' }] }, states),
      { kept: 1 },
    );
    await fail(await fixture.token(), 'JobStalled', 'why');
    const { output } = await fixture.ended(arn);
    expect(JSON.parse(defined(output))).toEqual({ kept: 1, failure: { Error: 'JobStalled', Cause: 'why' } });
  });

  it('dies at once with a stopped execution, and is not retried', async () => {
    const arn = await fixture.run(
      workMachine({ HeartbeatSeconds: 30, Retry: [{ ErrorEquals: ['States.ALL'], IntervalSeconds: 1, MaxAttempts: 5 }] }),
    );
    const token = await fixture.token();
    await fixture.client.send(new StopExecutionCommand({ executionArn: arn, error: 'Operator', cause: 'no longer wanted' }));
    expect(await fixture.describe(arn)).toMatchObject({ status: 'ABORTED', error: 'Operator', cause: 'no longer wanted' });
    await expect(beat(token)).rejects.toMatchObject(GONE);
    expect(await fixture.eventTypes(arn)).toEqual([
      'ExecutionStarted',
      'TaskStateEntered',
      'TaskScheduled',
      'TaskStarted',
      'TaskSubmitted',
      'ExecutionAborted',
    ]);
    expect(attemptsOf()).toEqual([{ attempt: 1, closed: 'stopped' }]);
  });

  it('is not retried when its execution is stopped during the interval', async () => {
    const arn = await fixture.run(workMachine({ Retry: [{ ErrorEquals: ['States.ALL'], IntervalSeconds: 1, MaxAttempts: 5 }] }));
    await fail(await fixture.token(), 'Flaky');
    await fixture.client.send(new StopExecutionCommand({ executionArn: arn }));
    await fixture.endpoint.close();
    expect(fixture.sent).toHaveLength(1);
  });

  it('dies with the TimeoutSeconds of its machine', async () => {
    const arn = await fixture.run(
      workMachine(
        { Catch: [{ ErrorEquals: ['States.ALL'], Next: 'Caught' }] },
        { Caught: { Type: 'Pass', End: true } },
        { TimeoutSeconds: 1 },
      ),
    );
    const token = await fixture.token();
    expect(await fixture.ended(arn)).toMatchObject({ status: 'TIMED_OUT' });
    await expect(fixture.succeed(token)).rejects.toMatchObject(GONE);
    expect(attemptsOf()).toEqual([{ attempt: 1, closed: 'timeout' }]);
    expect((await fixture.eventTypes(arn)).at(-1)).toBe('ExecutionTimedOut');
  });

  it('fails when its message cannot be sent, and its token is closed', async () => {
    fixture.sendError = new Error('no such queue');
    const arn = await fixture.run(workMachine());
    expect(await fixture.ended(arn)).toMatchObject({ status: 'FAILED', error: 'SQS.SqsException', cause: 'no such queue' });
    expect(attemptsOf()).toEqual([{ attempt: 1, closed: 'failure' }]);
    expect(await fixture.eventTypes(arn)).toContain('TaskSubmitFailed');
  });

  it('fails when a parameter points to nothing, whatever is caught', async () => {
    const parameters = { QueueUrl: QUEUE_URL, 'MessageBody.$': '$.absent' };
    const arn = await fixture.run(
      workMachine(
        { Parameters: parameters, Catch: [{ ErrorEquals: ['States.ALL'], Next: 'Caught' }] },
        { Caught: { Type: 'Pass', End: true } },
      ),
    );
    expect(await fixture.ended(arn)).toMatchObject({ status: 'FAILED', error: 'States.Runtime' });
    expect(fixture.endpoint.tokens()).toEqual([]);
  });

  it('fails when a parameter has the wrong type', async () => {
    const arn = await fixture.run(workMachine({ Parameters: { 'QueueUrl.$': '$.url', MessageBody: '' } }), { url: 7 });
    expect(await fixture.ended(arn)).toMatchObject({ status: 'FAILED', error: 'States.Runtime' });
  });

  it('fails when its message is larger than a payload may be', async () => {
    const arn = await fixture.run(workMachine({ Retry: [{ ErrorEquals: ['States.ALL'] }] }), 'x'.repeat(262_000));
    expect(await fixture.ended(arn)).toMatchObject({ status: 'FAILED', error: 'States.DataLimitExceeded' });
    expect(fixture.sent).toEqual([]);
  });

  it('runs beside others in the branches of a Parallel state, each with its own token', async () => {
    const branch = (name: string) => ({ StartAt: name, States: { [name]: JSON.parse(workMachine()).States.Work } });
    const arn = await fixture.run(
      JSON.stringify({ StartAt: 'Both', States: { Both: { Type: 'Parallel', End: true, Branches: [branch('A'), branch('B')] } } }),
    );
    const tokens = [await fixture.token(1), await fixture.token(2)];
    await fixture.succeed(defined(tokens[1]), 'second');
    await fixture.succeed(defined(tokens[0]), 'first');
    expect(await fixture.ended(arn)).toMatchObject({ status: 'SUCCEEDED', output: '["first","second"]' });
    expect(fixture.endpoint.tokens().map(({ stateName }) => stateName)).toEqual(['A', 'B']);
  });

  it('leaves a history of what happened, in order and without the token', async () => {
    const retry = [{ ErrorEquals: ['Flaky'], IntervalSeconds: 1, MaxAttempts: 1 }];
    const arn = await fixture.run(
      workMachine({ HeartbeatSeconds: 60, Retry: retry, Next: 'Done', End: undefined }, { Done: { Type: 'Succeed' } }),
    );
    const tokens = [await fixture.token(1)];
    await fail(defined(tokens[0]), 'Flaky');
    tokens.push(await fixture.token(2));
    await fixture.succeed(defined(tokens[1]), 'ok');
    await fixture.ended(arn);
    const attempt = ['TaskScheduled', 'TaskStarted', 'TaskSubmitted'];
    expect(await fixture.eventTypes(arn)).toEqual([
      'ExecutionStarted',
      'TaskStateEntered',
      ...attempt,
      'TaskFailed',
      ...attempt,
      'TaskSucceeded',
      'TaskStateExited',
      'SucceedStateEntered',
      'SucceedStateExited',
      'ExecutionSucceeded',
    ]);
    const events = await fixture.history(arn);
    expect(tokens.filter((token) => JSON.stringify(events).includes(token))).toEqual([]);
    expect(events[1]?.stateEnteredEventDetails).toEqual({ name: 'Work', input: '{}' });
    expect(events[5]?.taskFailedEventDetails).toMatchObject({ error: 'Flaky' });
    expect(events[9]?.taskSucceededEventDetails).toMatchObject({ output: '"ok"', resourceType: 'sqs' });
  });

  it('shows a timeout in the history', async () => {
    const arn = await fixture.run(workMachine({ HeartbeatSeconds: 1 }));
    await fixture.ended(arn);
    expect((await fixture.eventTypes(arn)).slice(-2)).toEqual(['TaskTimedOut', 'ExecutionFailed']);
  });

  it('leaves in the request log which token was answered how, never the token or the output', async () => {
    const arn = await fixture.run(workMachine());
    const token = await fixture.token();
    await beat(token);
    await fixture.succeed(token, { secret: 'result' });
    await expect(fail(token, 'JobStalled')).rejects.toMatchObject(GONE);
    const { records } = fixture.log;
    const detail = { state: 'Work', attempt: 1 };
    expect(records.filter(({ operation }) => operation.startsWith('SendTask'))).toMatchObject([
      { service: 'states', operation: 'SendTaskHeartbeat', resource: arn, status: 200, detail },
      { service: 'states', operation: 'SendTaskSuccess', resource: arn, status: 200, detail: { ...detail, answer: 'success' } },
      {
        operation: 'SendTaskFailure',
        resource: arn,
        status: 400,
        error: 'TaskTimedOut',
        detail: { ...detail, answer: 'failure', taskError: 'JobStalled' },
      },
    ]);
    expect(JSON.stringify(records)).not.toContain(token);
    expect(JSON.stringify(records)).not.toContain('result');
  });

  it('takes an answer that overtakes the reply of the queue, and shows both in order', async () => {
    let reply = () => {};
    fixture.sending = new Promise((resolve) => {
      reply = resolve;
    });
    const arn = await fixture.run(workMachine());
    await fixture.succeed(await fixture.token());
    reply();
    expect(await fixture.ended(arn)).toMatchObject({ status: 'SUCCEEDED' });
    expect((await fixture.eventTypes(arn)).slice(4, 6)).toEqual(['TaskSubmitted', 'TaskSucceeded']);
  });

  it('times out although the queue never answers', async () => {
    fixture.sending = new Promise(() => {});
    const arn = await fixture.run(workMachine({ HeartbeatSeconds: 1 }));
    expect(await fixture.ended(arn)).toMatchObject({ status: 'FAILED', error: 'States.Timeout' });
  });

  it('leaves no token open and no timer behind when the endpoint closes', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
    const before = timers();
    await fixture.run(workMachine({ HeartbeatSeconds: 60, TimeoutSeconds: 90 }, {}, { TimeoutSeconds: 120 }));
    await fixture.token();
    expect(timers()).toBeGreaterThan(before);
    await fixture.close();
    expect(attemptsOf()).toEqual([{ attempt: 1, closed: 'stopped' }]);
    await eventually(() => timers() <= before);
  });
});
