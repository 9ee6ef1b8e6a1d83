import { once } from 'node:events';
import { createServer, request as send, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { LocalAws } from '../../infra/local-aws/local-aws.js';

type Service = keyof LocalAws['endpoints'];
const SIGNED = /Credential=([^/]+)\/\d+\/[^/]+\/(dynamodb|sqs|s3|states)\//;

/** Stands before the embedded AWS, all of it at one address, and refuses what is signed with expired keys, as each service does. */
export class KeyGuard {
  /** How many calls were refused, by service. */
  readonly refused = new Map<Service, number>();
  isExpired: (accessKeyId: string) => boolean = () => false;

  private constructor(
    private readonly server: Server,
    private readonly endpoints: LocalAws['endpoints'],
  ) {
    server.on('request', (request, response) => this.serve(request, response));
  }

  static async start(endpoints: LocalAws['endpoints']): Promise<KeyGuard> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new KeyGuard(server, endpoints);
  }

  /** What makes a service come through here. */
  environment(): Record<string, string> {
    const url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    return Object.fromEntries(['DYNAMODB', 'SQS', 'S3', 'SFN'].map((name) => [`AWS_ENDPOINT_URL_${name}`, url]));
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private serve(request: IncomingMessage, response: ServerResponse): void {
    const [, keyId = '', service = 's3'] = SIGNED.exec(request.headers.authorization ?? '') ?? [];
    if (this.isExpired(keyId)) return this.refuse(service as Service, request, response);
    const upstream = send(this.endpoints[service as Service] + (request.url ?? ''), {
      method: request.method,
      headers: request.headers,
      setHost: false,
    });
    upstream.once('response', (reply) => {
      response.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(response);
    });
    upstream.on('error', () => response.destroy());
    response.once('close', () => upstream.destroy());
    request.pipe(upstream);
  }

  private refuse(service: Service, request: IncomingMessage, response: ServerResponse): void {
    this.refused.set(service, (this.refused.get(service) ?? 0) + 1);
    request.resume();
    if (service === 's3') {
      const text = '<?xml version="1.0"?>\n<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>';
      response.writeHead(400).end(request.method === 'HEAD' ? undefined : text);
      return;
    }
    const name = service === 'sqs' ? 'ExpiredToken' : 'ExpiredTokenException';
    const headers = {
      'content-type': 'application/x-amz-json-1.0',
      ...(service === 'sqs' ? { 'x-amzn-query-error': `${name};Sender` } : {}),
    };
    response.writeHead(service === 'sqs' ? 403 : 400, headers).end(JSON.stringify({ __type: name, message: 'The token is expired' }));
  }
}
