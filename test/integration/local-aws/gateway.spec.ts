import { createServer, type IncomingMessage, type Server } from 'node:http';
import { json } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DescribeExecutionCommand, SFNClient } from '@aws-sdk/client-sfn';
import { Gateway } from '../../../infra/local-aws/gateway.js';
import { FaultRules } from '../../../infra/local-aws/gateway-faults.js';
import { listen } from '../../../infra/local-aws/listen.js';
import { RequestLog } from '../../../infra/local-aws/request-log.js';

const call = (executionArn: string) => new DescribeExecutionCommand({ executionArn });

describe('Gateway', () => {
  let upstream: Server;
  let seen: string[];
  let gateway: Gateway;
  let log: RequestLog;
  let faults: FaultRules;
  let client: SFNClient;

  beforeEach(async () => {
    seen = [];
    upstream = createServer((request, response) => {
      void answer(request).then((status) =>
        response.writeHead(status).end(JSON.stringify(status === 200 ? { name: 'x' } : { __type: 'a#InvalidArn' })),
      );
    });
    log = new RequestLog();
    faults = new FaultRules();
    const url = await listen(upstream);
    const describeCall = ({ body }: { body: Record<string, unknown> }) => ({ resource: String(body['executionArn']) });
    gateway = await Gateway.start({ service: 'states', upstream: url, faults, log, describe: describeCall });
    client = new SFNClient({
      endpoint: gateway.url,
      region: 'us-east-1',
      credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
      maxAttempts: 1,
    });
  });

  afterEach(async () => {
    client.destroy();
    await gateway.close();
    await new Promise((resolve) => upstream.close(resolve));
  });

  async function answer(request: IncomingMessage): Promise<number> {
    const { executionArn } = (await json(request)) as { executionArn: string };
    seen.push(executionArn);
    return executionArn === 'bad' ? 400 : 200;
  }

  it('hands requests and answers through, and logs each with its name, resource and status', async () => {
    await expect(client.send(call('one'))).resolves.toMatchObject({ name: 'x' });
    await expect(client.send(call('bad'))).rejects.toMatchObject({ name: 'InvalidArn' });

    expect(log.records).toEqual([
      { at: expect.any(String), service: 'states', operation: 'DescribeExecution', resource: 'one', status: 200 },
      { at: expect.any(String), service: 'states', operation: 'DescribeExecution', resource: 'bad', status: 400, error: 'InvalidArn' },
    ]);
  });

  it('drops a reply: the request is carried out, the client sees an error', async () => {
    faults.add({ operation: 'DescribeExecution', action: { kind: 'drop-reply' } });

    await expect(client.send(call('one'))).rejects.toThrow();

    expect(seen).toEqual(['one']);
    expect(log.records).toMatchObject([{ status: 200, fault: 'dropped-reply' }]);
  });

  it('cuts a request: it is not carried out, the client sees an error', async () => {
    faults.add({ action: { kind: 'cut' } });

    await expect(client.send(call('one'))).rejects.toThrow();

    expect(seen).toEqual([]);
    expect(log.records).toMatchObject([{ status: 0, fault: 'cut' }]);
  });

  it('fails a request by the error that the rule names', async () => {
    faults.add({ action: { kind: 'fail', status: 400, type: 'ThrottlingException', message: 'Rate exceeded' } });

    await expect(client.send(call('one'))).rejects.toMatchObject({ name: 'ThrottlingException', message: 'Rate exceeded' });

    expect(seen).toEqual([]);
    expect(log.records).toMatchObject([{ status: 400, error: 'ThrottlingException', fault: 'failed' }]);
  });

  it('delays a request, and does not let one that is waiting hold up its close', async () => {
    const started = performance.now();
    const remove = faults.add({ action: { kind: 'delay', ms: 50 } });
    await client.send(call('one'));
    expect(performance.now() - started).toBeGreaterThanOrEqual(49);
    expect(log.records).toMatchObject([{ status: 200, fault: 'delayed' }]);

    remove();
    const arrived = new Promise<void>((resolve) => {
      const when = () => {
        resolve();
        return true;
      };
      faults.add({ when, action: { kind: 'delay', ms: 60_000 } });
    });
    const waiting = expect(client.send(call('two'))).rejects.toThrow();
    await arrived;
    await gateway.close();
    await waiting;
    expect(seen).toEqual(['one']);
  });

  it('calls a function between the deed and the answer', async () => {
    let answered = false;
    const calls: unknown[] = [];
    faults.add({ action: { kind: 'call', fn: (record) => void calls.push([record.status, seen.length, answered]) } });

    await client.send(call('one'));
    answered = true;

    expect(calls).toEqual([[200, 1, false]]);
  });

  it('acts on matching requests only: by service, operation and body, after some, so many times, until removed', async () => {
    faults.add({ service: 'sqs', action: { kind: 'cut' } });
    faults.add({ operation: 'StopExecution', action: { kind: 'cut' } });
    const when = (body: unknown) => (body as { executionArn: string }).executionArn === 'hit';
    const remove = faults.add({ when, after: 1, times: 2, action: { kind: 'fail', status: 400, type: 'Chosen' } });
    faults.add({ when, after: 5, action: { kind: 'fail', status: 400, type: 'Later' } });

    const outcomes: string[] = [];
    for (const arn of ['miss', 'hit', 'hit', 'miss', 'hit', 'hit', 'hit', 'hit'])
      outcomes.push(
        await client.send(call(arn)).then(
          () => 'ok',
          (error: Error) => error.name,
        ),
      );
    remove();

    // The 3rd rule takes its second and third match; the 4th counts only the matches that it left.
    expect(outcomes).toEqual(['ok', 'ok', 'Chosen', 'ok', 'Chosen', 'ok', 'ok', 'ok']);
  });

  it('answers 500 when the emulator behind it is gone', async () => {
    upstream.closeAllConnections();
    await new Promise((resolve) => upstream.close(resolve));

    await expect(client.send(call('one'))).rejects.toMatchObject({ name: 'InternalFailure', $metadata: { httpStatusCode: 500 } });
  });

  it('logs only what a fault kept from an emulator that logs by itself', async () => {
    const url = `http://127.0.0.1:${(upstream.address() as { port: number }).port}`;
    const quiet = await Gateway.start({ service: 'states', upstream: url, upstreamLogs: true, faults, log });
    const own = new SFNClient({
      endpoint: quiet.url,
      region: 'us-east-1',
      credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
      maxAttempts: 1,
    });
    await own.send(call('one'));
    expect(log.records).toEqual([]);

    faults.add({ action: { kind: 'cut' } });
    await expect(own.send(call('two'))).rejects.toThrow();
    expect(log.records).toMatchObject([{ operation: 'DescribeExecution', fault: 'cut' }]);
    own.destroy();
    await quiet.close();
  });
});
