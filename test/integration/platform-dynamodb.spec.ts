import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { afterEach, describe, expect, it } from '@jest/globals';
import { AwsClients, DYNAMODB_ATTEMPTS, DYNAMODB_REQUEST_TIMEOUT_MS } from '../../src/platform/aws/aws-clients.js';

/** Of the batch heartbeat and the coordinator heartbeat. */
const HEARTBEAT_INTERVAL_MS = 10_000;

describe('a table that does not work', () => {
  let server: Server;
  let clients: AwsClients;

  async function start(answer: RequestListener): Promise<void> {
    server = createServer(answer).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const credentials = { AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' };
    Object.assign(process.env, { ...credentials, AWS_ENDPOINT_URL_DYNAMODB: `http://127.0.0.1:${port}` });
    clients = new AwsClients({ region: 'us-east-1', s3CustomEndpoint: true });
  }
  afterEach(async () => {
    clients.destroy();
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });

  it.each([
    ['answers with errors', (_request, response) => void response.writeHead(500).end()],
    ['is silent', () => undefined],
  ] satisfies [string, RequestListener][])('because it %s is asked three times, and no more', async (_case, answer) => {
    let asked = 0;
    await start((request, response) => {
      asked++;
      answer(request, response);
    });
    await expect(clients.dynamoDb.send(new GetCommand({ TableName: 'table', Key: { id: '1' } }))).rejects.toThrow();
    expect(asked).toBe(DYNAMODB_ATTEMPTS);
  });

  it('is known for it before the next heartbeat is due, however silent it is', () => {
    // Between its attempts the SDK waits at random, at most so long.
    const waitsMs = [100, 200];
    expect(waitsMs).toHaveLength(DYNAMODB_ATTEMPTS - 1);
    expect(DYNAMODB_ATTEMPTS * DYNAMODB_REQUEST_TIMEOUT_MS + waitsMs.reduce((sum, ms) => sum + ms, 0)).toBeLessThan(HEARTBEAT_INTERVAL_MS);
  });
});
