import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

export interface RequestHead {
  method: string;
  /** With its query, as sent. */
  target: string;
  headers: ReadonlyMap<string, string>;
}

/** What becomes of one request: its body in pieces, then the answer. A piece is valid only during the call. */
export interface Exchange {
  onBody(piece: Buffer): void;
  /** Must end by one `reply` of the connection, now or later. */
  onEnd(): void;
}

export type Serve = (head: RequestHead, connection: Connection) => Exchange;

/**
 * HTTP/1.1 with keep-alive over plain sockets, as much as the bench's clients speak: bodies with Content-Length, `Expect: 100-continue`,
 * one request at a time on a connection. Node's own server costs several times the CPU, on cores that the contenders share.
 */
export class Http1Server {
  private readonly sockets = new Set<Socket>();

  private constructor(private readonly server: Server) {}

  static async listen(serve: Serve): Promise<Http1Server> {
    const net = createServer({ noDelay: true }, (socket) => {
      server.sockets.add(socket);
      socket.once('close', () => server.sockets.delete(socket));
      const connection = new Connection(socket, serve);
      socket.on('data', (piece: Buffer) => connection.receive(piece));
    });
    const server = new Http1Server(net);
    await new Promise<void>((resolve, reject) => {
      net.once('error', reject);
      net.listen(0, '127.0.0.1', 4_096, resolve);
    });
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }
}

const END_OF_HEAD = '\r\n\r\n';
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const REFUSAL = 'HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';

type State = { kind: 'head'; pending: Buffer } | { kind: 'body'; exchange: Exchange; left: number } | { kind: 'answering' };

/** One client's connection; its requests come one after the other. */
export class Connection {
  private state: State = { kind: 'head', pending: Buffer.alloc(0) };

  constructor(
    readonly socket: Socket,
    private readonly serve: Serve,
  ) {
    // A client that goes away is the contender's business: what it did not store will be missed.
    socket.on('error', () => socket.destroy());
  }

  /** The end of the request at hand; the next one may come. `body` follows the head in one write. */
  reply(head: string, body?: Buffer): void {
    this.socket.cork();
    this.socket.write(head, 'latin1');
    if (body !== undefined) this.socket.write(body);
    this.socket.uncork();
    this.finished();
  }

  /** For who writes the answer to the socket by itself. */
  finished(): void {
    this.state = { kind: 'head', pending: Buffer.alloc(0) };
  }

  receive(piece: Buffer): void {
    const { state } = this;
    switch (state.kind) {
      case 'body':
        return this.receiveBody(state, piece);
      case 'head': {
        const bytes = state.pending.length === 0 ? piece : Buffer.concat([state.pending, piece]);
        const end = bytes.indexOf(END_OF_HEAD);
        if (end === -1) state.pending = bytes;
        else this.begin(bytes.toString('latin1', 0, end), bytes.subarray(end + END_OF_HEAD.length));
        return;
      }
      case 'answering':
        return this.refuse();
    }
  }

  private begin(text: string, rest: Buffer): void {
    const head = parseHead(text);
    const length = Number(head.headers.get('content-length') ?? 0);
    if (!Number.isSafeInteger(length) || length < 0 || head.headers.has('transfer-encoding')) return this.refuse();
    const state: State = { kind: 'body', exchange: this.serve(head, this), left: length };
    this.state = state;
    if (head.headers.get('expect')?.toLowerCase() === '100-continue') this.socket.write(CONTINUE);
    this.receiveBody(state, rest);
  }

  private receiveBody(state: State & { kind: 'body' }, piece: Buffer): void {
    if (piece.length > state.left) return this.refuse();
    state.left -= piece.length;
    if (piece.length > 0) state.exchange.onBody(piece);
    if (state.left > 0) return;
    this.state = { kind: 'answering' };
    state.exchange.onEnd();
  }

  private refuse(): void {
    this.socket.end(REFUSAL);
  }
}

export function parseHead(text: string): RequestHead {
  const [requestLine = '', ...lines] = text.split('\r\n');
  const [method = '', target = ''] = requestLine.split(' ');
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(':');
    headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
  }
  return { method, target, headers };
}

/** The head of an answer. */
export function answerHead(status: string, headers: Readonly<Record<string, string | number>>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status}\r\n${lines.join('')}\r\n`;
}
