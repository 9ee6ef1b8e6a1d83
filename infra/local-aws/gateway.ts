import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import type { FaultAction, FaultRules } from './gateway-faults.js';
import { listen } from './listen.js';
import type { AwsService, RequestLog, RequestRecord } from './request-log.js';

export type JsonObject = Record<string, unknown>;

/** One request of the AWS JSON protocols. */
export interface ApiCall {
  service: AwsService;
  operation: string;
  body: JsonObject;
  /** The client has hung up: nobody will read the answer. */
  clientGone: () => boolean;
}

export interface ApiReply {
  status: number;
  headers: Record<string, string | string[]>;
  text: string;
}

/** Sends the call on; `change` replaces its operation or body. */
export type Forward = (change?: { operation?: string; body?: JsonObject }) => Promise<ApiReply>;

export interface GatewayOptions {
  service: AwsService;
  /** Base URL of the emulator behind. */
  upstream: string;
  faults: FaultRules;
  log: RequestLog;
  /** The emulator writes the log itself: only what a fault kept from it is added here. */
  upstreamLogs?: boolean;
  port?: number;
  /** What the log says of a call besides its name. `reply` is absent when there was none. */
  describe?: (call: ApiCall, reply?: ApiReply) => Pick<RequestRecord, 'resource' | 'detail'>;
  /** Answers what the emulator lacks; default is to send everything on. */
  handle?: (call: ApiCall, forward: Forward) => Promise<ApiReply>;
}

const FAULT_NAMES = { 'drop-reply': 'dropped-reply', cut: 'cut', delay: 'delayed', fail: 'failed', call: 'called' } as const;
const NOT_FORWARDED = new Set(['host', 'connection', 'keep-alive', 'content-length', 'transfer-encoding', 'expect']);
/** Longer than any client keeps an idle connection: the client closes first, so no request runs into a closing socket. */
const KEEP_ALIVE_MS = 75_000;

/** A reverse proxy before one emulator: names, logs and disturbs its requests. JSON bodies only, held in memory. */
export class Gateway {
  private readonly closing = new AbortController();
  private closed: Promise<void> | undefined;

  private constructor(
    private readonly options: GatewayOptions,
    private readonly server: Server,
    private readonly upstream: Pool,
    readonly url: string,
  ) {}

  /** @throws Error with code `EADDRINUSE` */
  static async start(options: GatewayOptions): Promise<Gateway> {
    const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS });
    const url = await listen(server, options.port);
    const gateway = new Gateway(options, server, new Pool(options.upstream), url);
    server.on('request', (request, response) => void gateway.respond(request, response));
    return gateway;
  }

  /** Hangs up on clients, then waits until the emulator has answered what it was sent. */
  close(): Promise<void> {
    this.closed ??= this.shut();
    return this.closed;
  }

  private async shut(): Promise<void> {
    this.closing.abort();
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await Promise.all([closed, this.upstream.close()]);
  }

  private async respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.serve(request, response);
    } catch (error) {
      const cause = error instanceof Error ? error.message : 'unknown';
      send(response, errorReply(this.options.service, 500, 'InternalFailure', `Embedded AWS: ${cause}`));
    }
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const at = new Date().toISOString();
    const call = await readCall(this.options.service, request, response);
    const action = this.options.faults.take(call);
    if (action?.kind === 'delay') await delay(action.ms, undefined, { signal: this.closing.signal });
    const reply = await this.answer(call, action, request.headers);
    const record = this.record(at, call, action, reply);
    if (action?.kind === 'call') await action.fn(record);
    const unseen = action?.kind === 'cut' || action?.kind === 'fail';
    if (unseen || this.options.upstreamLogs !== true) this.options.log.add(record);
    if (reply === undefined || action?.kind === 'drop-reply') request.socket.destroy();
    else send(response, reply);
  }

  private async answer(call: ApiCall, action: FaultAction | undefined, headers: IncomingHttpHeaders): Promise<ApiReply | undefined> {
    if (action?.kind === 'cut') return undefined;
    if (action?.kind === 'fail') return errorReply(call.service, action.status, action.type, action.message);
    const forward: Forward = (change) => this.forward({ ...call, ...change }, headers);
    return this.options.handle === undefined ? forward() : this.options.handle(call, forward);
  }

  private async forward(call: ApiCall, headers: IncomingHttpHeaders): Promise<ApiReply> {
    const [api] = String(headers['x-amz-target']).split('.');
    const kept = Object.entries(headers).filter(([name]) => !NOT_FORWARDED.has(name));
    const {
      statusCode,
      headers: replied,
      body,
    } = await this.upstream.request({
      path: '/',
      method: 'POST',
      headers: { ...Object.fromEntries(kept), 'x-amz-target': `${api}.${call.operation}` },
      body: JSON.stringify(call.body),
    });
    const text = await body.text();
    const passed = Object.entries(replied).filter(
      (entry): entry is [string, string | string[]] => entry[1] !== undefined && !NOT_FORWARDED.has(entry[0]),
    );
    return { status: statusCode, headers: Object.fromEntries(passed), text };
  }

  private record(at: string, call: ApiCall, action: FaultAction | undefined, reply: ApiReply | undefined): RequestRecord {
    const error = reply === undefined || reply.status < 400 ? undefined : errorName(reply);
    return {
      at,
      service: call.service,
      operation: call.operation,
      status: reply?.status ?? 0,
      ...(error === undefined ? {} : { error }),
      ...(action === undefined ? {} : { fault: FAULT_NAMES[action.kind] }),
      ...this.options.describe?.(call, reply),
    };
  }
}

/** An answer of our own in place of the emulator's. */
export function jsonReply(body: JsonObject, status = 200): ApiReply {
  return { status, headers: { 'content-type': 'application/x-amz-json-1.0' }, text: JSON.stringify(body) };
}

/** An error as the SDKs read it; SQS clients take the name from a header of its own. */
export function errorReply(service: AwsService, status: number, type: string, message = ''): ApiReply {
  const reply = jsonReply({ __type: type, message }, status);
  if (service === 'sqs') reply.headers['x-amzn-query-error'] = `${type};${status < 500 ? 'Sender' : 'Receiver'}`;
  return reply;
}

/** The reply's JSON; `{}` when it is none. */
export function bodyOf(reply: ApiReply): JsonObject {
  return parseObject(reply.text);
}

async function readCall(service: AwsService, request: IncomingMessage, response: ServerResponse): Promise<ApiCall> {
  const text = (await buffer(request)).toString();
  const operation = String(request.headers['x-amz-target']).split('.').at(-1) ?? '';
  return { service, operation, body: parseObject(text), clientGone: () => response.destroyed };
}

function parseObject(text: string): JsonObject {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null ? (parsed as JsonObject) : {};
  } catch {
    return {};
  }
}

function errorName(reply: ApiReply): string {
  const type = bodyOf(reply)['__type'];
  return typeof type === 'string' ? type.replace(/^.*#/, '') : 'UnknownError';
}

function send(response: ServerResponse, reply: ApiReply): void {
  response.writeHead(reply.status, { ...reply.headers, 'content-length': Buffer.byteLength(reply.text) }).end(reply.text);
}
