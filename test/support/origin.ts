import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Answer = (request: IncomingMessage, response: ServerResponse, hit: number) => void;

/** A source of files for tests: what each path does is the test's business, and what was asked for is remembered. */
export class Origin {
  /** Requests by path, without their query. */
  readonly hits = new Map<string, number>();
  /** The most requests that were unanswered at the same time. */
  peakConcurrency = 0;
  private open = 0;
  private readonly answers = new Map<string, Answer>();

  private constructor(
    private readonly server: Server,
    /** Its address: a host of its own for the service. */
    readonly name: string,
  ) {}

  /** @param host an address of this machine: the service takes each for a host of its own */
  static async start(host = '127.0.0.1'): Promise<Origin> {
    const server = createServer((request, response) => origin.serve(request, response));
    const origin = new Origin(server, host);
    await new Promise<void>((resolve) => server.listen(0, host, resolve));
    return origin;
  }

  get url(): string {
    return `http://${this.name}:${(this.server.address() as AddressInfo).port}`;
  }

  /** Makes `path` answer so; returns its URL. */
  on(path: string, answer: Answer): string {
    this.answers.set(path, answer);
    return this.url + path;
  }

  /** A file of these bytes. */
  file(path: string, body: Buffer | string): string {
    return this.on(path, (_request, response) => send(response, Buffer.from(body)));
  }

  /** A file whose bytes come only when the test says so. */
  gated(path: string, body: Buffer | string, gate: Promise<unknown>): string {
    return this.on(path, (_request, response) => void gate.then(() => send(response, Buffer.from(body))));
  }

  hitsOf(path: string): number {
    return this.hits.get(path) ?? 0;
  }

  get totalHits(): number {
    return [...this.hits.values()].reduce((sum, hits) => sum + hits, 0);
  }

  /** Requests that have not been answered yet. */
  get openRequests(): number {
    return this.open;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private serve(request: IncomingMessage, response: ServerResponse): void {
    const [path = ''] = (request.url ?? '').split('?');
    const hit = (this.hits.get(path) ?? 0) + 1;
    this.hits.set(path, hit);
    this.open++;
    this.peakConcurrency = Math.max(this.peakConcurrency, this.open);
    response.once('close', () => this.open--);
    const answer = this.answers.get(path);
    if (answer !== undefined) return answer(request, response, hit);
    response.writeHead(404).end('not here');
  }
}

export function send(response: ServerResponse, body: Buffer): void {
  response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': body.length });
  response.end(body);
}

export function sha256(body: Buffer | string): string {
  return createHash('sha256').update(body).digest('hex');
}
