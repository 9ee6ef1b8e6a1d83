import { once } from 'node:events';
import { Agent, createServer, request, type IncomingMessage, type OutgoingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { FaultRules } from '../../infra/local-aws/gateway-faults.js';
import type { ApiReply } from '../../infra/local-aws/gateway.js';
import { listen } from '../../infra/local-aws/listen.js';
import type { LocalAws } from '../../infra/local-aws/local-aws.js';
import { readAwsRequest, throttleReply, type AwsRequest } from './aws-request.js';

/**
 * - `delay`: waits before it sends the request on; a write is sent on even if its client has stopped waiting
 * - `drop-reply`: the request is carried out, then the client's connection is cut: the client cannot know
 * - `throttle`: answers what this service says when it is asked too often, and carries nothing out
 * - `cut`: the connection is cut and nothing is carried out
 * - `hold-back`: the connection is cut, and the request is carried out once the client's next try of it has been: a late write.
 *   Without a next try within `ms` (1,000) it is carried out then.
 * - `swallow`: answers as if it had been carried out; only for calls whose answer is empty (DeleteMessage)
 */
export type ProxyFault =
  | { kind: 'delay'; ms: number }
  | { kind: 'drop-reply' }
  | { kind: 'throttle' }
  | { kind: 'cut' }
  | { kind: 'hold-back'; ms?: number }
  | { kind: 'swallow' };

/** One fault that struck. */
export interface StruckFault {
  atMs: number;
  name: string;
  attempt: number;
  fault: ProxyFault['kind'] | 'stop';
}

interface Stop {
  writesLeft: number;
  hook: (write: string) => void | Promise<void>;
  counts: (write: AwsRequest) => boolean;
}

const HOLD_BACK_MS = 1_000;
/** Longer than a client keeps an idle connection. */
const KEEP_ALIVE_MS = 75_000;

/**
 * Stands between one service process and the four endpoints of the embedded AWS, all of them at one address, and is its network: late,
 * lossy, cut off. Bodies of S3 are streamed, headers are passed on as they came, `Host` among them, which is signed.
 * A rule that matches decides; where none does, `chance` may.
 */
export class FaultProxy {
  readonly rules = new FaultRules<ProxyFault>();
  /** What befalls a request that no rule is about; none by default. */
  chance: (request: AwsRequest) => ProxyFault | undefined = () => undefined;
  readonly struck: StruckFault[] = [];
  /** Writes sent on so far, late ones too. */
  writes = 0;
  private stop: Stop | undefined;
  /** Called when a try of the call has been carried out. */
  private readonly carriedOut = new Map<string, () => void>();
  private readonly pending = new Set<Promise<void>>();
  private readonly closing = new AbortController();
  private readonly agent = new Agent({ keepAlive: true });

  private constructor(
    private readonly server: Server,
    private readonly endpoints: LocalAws['endpoints'],
    readonly url: string,
  ) {}

  static async start(endpoints: LocalAws['endpoints']): Promise<FaultProxy> {
    const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 0 });
    const proxy = new FaultProxy(server, endpoints, await listen(server));
    server.on('request', (message, response) => proxy.accept(message, response));
    return proxy;
  }

  /** What makes a service come through here. */
  environment(): Record<string, string> {
    const names = ['DYNAMODB', 'SQS', 'S3', 'SFN'];
    return Object.fromEntries(names.map((name) => [`AWS_ENDPOINT_URL_${name}`, this.url]));
  }

  /**
   * The `count`th write from now on is carried out and never answered: `hook` is called with its name first, as a rule to kill the
   * service. Replaces a former stop.
   * @param counts which writes are counted; all by default
   */
  stopAtWrite(count: number, hook: Stop['hook'], counts: Stop['counts'] = () => true): void {
    this.stop = { writesLeft: count, hook, counts };
  }

  /** No rule, no chance, no stop any more. What is held back or delayed still comes. */
  calm(): void {
    this.rules.clear();
    this.chance = () => undefined;
    this.stop = undefined;
  }

  /** Until nothing sent through here can still take effect; an idle poll counts too, so the service has to be gone. */
  async settled(): Promise<void> {
    while (this.pending.size > 0) await Promise.all(this.pending);
  }

  /** Cuts everything; what is held back is never carried out. */
  async close(): Promise<void> {
    this.closing.abort();
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    this.agent.destroy();
    await Promise.all([closed, this.settled()]);
  }

  private accept(message: IncomingMessage, response: ServerResponse): void {
    // A client that leaves and an endpoint that is closed show the other side the same: a cut connection.
    const served = this.serve(message, response)
      .catch(() => void message.socket.destroy())
      .finally(() => this.pending.delete(served));
    this.pending.add(served);
  }

  private async serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const call = await readAwsRequest(message);
    const fault = this.rules.take(call) ?? this.chance(call);
    if (fault !== undefined) this.record(call, fault.kind);
    switch (fault?.kind) {
      case 'cut':
        message.socket.destroy();
        return;
      case 'throttle':
        message.resume();
        sendReply(response, throttleReply(call.service));
        return;
      case 'swallow':
        sendReply(response, { status: 200, headers: { 'content-type': 'application/x-amz-json-1.0' }, text: '{}' });
        return;
      case 'hold-back':
        return this.holdBack(call, message, fault.ms ?? HOLD_BACK_MS);
      case 'delay':
        await sleep(fault.ms, undefined, { signal: this.closing.signal });
        break;
      case 'drop-reply':
      case undefined:
        break;
    }
    const reply = await this.forward(call, message, response);
    const stopped = call.write && (await this.countWrite(call));
    if (stopped || fault?.kind === 'drop-reply') {
      reply.resume();
      message.socket.destroy();
      return;
    }
    response.writeHead(reply.statusCode ?? 502, withoutHopHeaders(reply.headers));
    await pipeline(reply, response);
  }

  private async holdBack(call: AwsRequest, message: IncomingMessage, ms: number): Promise<void> {
    const held = { ...call, bytes: call.bytes ?? (await buffer(message)) };
    message.socket.destroy();
    const next = new Promise<void>((resolve) => this.carriedOut.set(call.invocationId, resolve));
    const limit = new AbortController();
    const signal = AbortSignal.any([limit.signal, this.closing.signal]);
    await Promise.race([next, sleep(ms, undefined, { signal })]).finally(() => limit.abort());
    this.carriedOut.delete(call.invocationId);
    const reply = await this.forward(held, message);
    reply.resume();
    if (call.write) this.writes++;
  }

  /** The head of the endpoint's answer: by then the call has been carried out. @throws when it cannot be had */
  private async forward(call: AwsRequest, message: IncomingMessage, response?: ServerResponse): Promise<IncomingMessage> {
    // A long poll must end with its client, or it would take messages for nobody. A write that is on its way arrives.
    if (!call.write && response?.closed === true) throw new Error('The client has gone');
    const upstream = request(this.endpoints[call.service] + (message.url ?? '/'), {
      method: message.method,
      headers: { ...withoutHopHeaders(message.headers), ...(call.bytes === undefined ? {} : { 'content-length': call.bytes.length }) },
      agent: this.agent,
      signal: this.closing.signal,
      setHost: false,
    });
    const answered = once(upstream, 'response') as Promise<[IncomingMessage]>;
    if (!call.write) response?.once('close', () => response.writableFinished || upstream.destroy());
    if (call.bytes !== undefined) upstream.end(call.bytes);
    else pipeline(message, upstream).catch((error: Error) => void upstream.destroy(error));
    const [reply] = await answered;
    this.carriedOut.get(call.invocationId)?.();
    return reply;
  }

  /** Whether this was the write to stop at. */
  private async countWrite(call: AwsRequest): Promise<boolean> {
    this.writes++;
    const { stop } = this;
    if (stop === undefined || !stop.counts(call) || --stop.writesLeft > 0) return false;
    this.stop = undefined;
    this.record(call, 'stop');
    await stop.hook(call.name);
    return true;
  }

  private record({ name, attempt }: AwsRequest, fault: StruckFault['fault']): void {
    this.struck.push({ atMs: Date.now(), name, attempt, fault });
  }
}

function withoutHopHeaders(headers: IncomingMessage['headers']): OutgoingHttpHeaders {
  const { connection: _connection, 'keep-alive': _keepAlive, expect: _expect, 'transfer-encoding': _encoding, ...kept } = headers;
  return kept;
}

function sendReply(response: ServerResponse, { status, headers, text }: ApiReply): void {
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(text) }).end(text);
}
