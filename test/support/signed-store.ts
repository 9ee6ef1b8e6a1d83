import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { signatureFault, signedAtMs, type Signer } from './sigv4.js';

const MAX_SKEW_MS = 15 * 60_000;

export interface SeenRequest {
  method: string;
  /** As it came, with the query. */
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}

export type StoreAnswer = (response: ServerResponse, request: SeenRequest) => void;

/** A bucket that takes only what is signed by who may, and otherwise answers what the test says, one answer a request. */
export class SignedStore {
  /** Those that were signed well. */
  readonly requests: SeenRequest[] = [];
  /** Why the others were refused. */
  readonly faults: string[] = [];
  signer: Signer = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'the-secret-of-this-test' };
  /** Ahead of this machine's clock. */
  skewMs = 0;
  private readonly answers: StoreAnswer[] = [];

  private constructor(private readonly server: Server) {
    server.on('request', (request, response) => void this.serve(request, response));
  }

  static async start(): Promise<SignedStore> {
    const server = createServer();
    const store = new SignedStore(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return store;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** What the next requests are answered; without more, an empty 200 with an ETag. */
  next(...answers: StoreAnswer[]): void {
    this.answers.push(...answers);
  }

  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat(await request.toArray()).toString();
    const { method = '', url = '', headers } = request;
    const nowMs = Date.now() + this.skewMs;
    response.setHeader('date', new Date(nowMs).toUTCString());
    const fault = signatureFault(request, this.signer);
    if (fault !== undefined) {
      this.faults.push(fault);
      return failing(403, fault)(response, { method, url, headers, body });
    }
    if (Math.abs(signedAtMs(request) - nowMs) > MAX_SKEW_MS) {
      this.faults.push('RequestTimeTooSkewed');
      return failing(403, 'RequestTimeTooSkewed')(response, { method, url, headers, body });
    }
    const seen = { method, url, headers, body };
    this.requests.push(seen);
    (this.answers.shift() ?? answering())(response, seen);
  }
}

export function answering(text = '', headers: Record<string, string> = { etag: '"etag"' }): StoreAnswer {
  return (response) => response.writeHead(200, headers).end(text);
}

export function failing(status: number, code: string, message = ''): StoreAnswer {
  const error = `<?xml version="1.0"?>\n<Error><Code>${code}</Code><Message>${message}</Message></Error>`;
  return (response, { method }) => response.writeHead(status).end(method === 'HEAD' ? undefined : error);
}

export function resetting(): StoreAnswer {
  return (response) => response.socket?.resetAndDestroy();
}
