import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

export interface RawRequest {
  method: string;
  /** Path with query. */
  path: string;
  /** Names in lower case. */
  headers: Record<string, string>;
}

/** Writes the answer byte by byte as it likes; the connection stays open unless it ends it. */
export type RawAnswer = (socket: Socket, request: RawRequest) => void;

/**
 * An origin on 127.0.0.1 that can answer what no HTTP library would: wrong lengths, cut bodies, silence.
 * Bodies of requests are not read: it serves GET.
 */
export class RawOrigin {
  readonly requests: RawRequest[] = [];
  private readonly answers = new Map<string, RawAnswer>();
  private readonly sockets = new Set<Socket>();

  private constructor(private readonly server: Server) {
    server.on('connection', (socket) => this.serve(socket));
  }

  static async start(): Promise<RawOrigin> {
    const server = createServer();
    const origin = new RawOrigin(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return origin;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Connections that are open now. */
  get connections(): number {
    return this.sockets.size;
  }

  /** Says how a path (without query) is answered; its URL. */
  on(path: string, answer: RawAnswer): string {
    this.answers.set(path, answer);
    return `${this.url}${path}`;
  }

  /** A well-behaved file. */
  file(path: string, body: Uint8Array, headers: Record<string, string> = {}): string {
    return this.on(path, (socket) => {
      socket.write(head(200, { 'content-length': String(body.length), ...headers }));
      socket.write(body);
    });
  }

  /** Cuts every connection; again does nothing. */
  async close(): Promise<void> {
    if (!this.server.listening) return;
    const closed = once(this.server, 'close');
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  private serve(socket: Socket): void {
    this.sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('close', () => this.sockets.delete(socket));
    socket.on('error', () => {});
    let received = '';
    socket.on('data', (data) => {
      received += data.toString('latin1');
      for (let end = received.indexOf('\r\n\r\n'); end !== -1; end = received.indexOf('\r\n\r\n')) {
        const request = parse(received.slice(0, end));
        received = received.slice(end + 4);
        this.requests.push(request);
        const answer = this.answers.get(request.path.split('?', 1)[0] ?? '');
        if (answer === undefined) socket.write(head(404, { 'content-length': '0' }));
        else answer(socket, request);
      }
    });
  }
}

export function head(status: number, headers: Record<string, string> = {}): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} Answer\r\n${lines.join('')}\r\n`;
}

/** One chunk of chunked framing; without bytes the last one. */
export function chunk(bytes: Uint8Array = new Uint8Array()): Uint8Array {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
}

function parse(text: string): RawRequest {
  const [start = '', ...lines] = text.split('\r\n');
  const [method = '', path = ''] = start.split(' ');
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { method, path, headers: Object.fromEntries(headers) };
}
