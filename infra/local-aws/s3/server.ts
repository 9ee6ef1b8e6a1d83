import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { setTimeout as wait } from 'node:timers/promises';
import type { RequestLog, RequestRecord } from '../request-log.js';
import { S3Error, s3Error } from './errors.js';
import type { S3FaultAction, S3Faults } from './faults.js';
import { OPERATIONS } from './operations/index.js';
import type { Reply } from './reply.js';
import { checkRequest, parseRequest, type S3Request } from './request.js';
import type { Store } from './store/store.js';
import { leaf } from './xml.js';

/** How the request log calls what a fault did. */
const FAULT_WORDS: Record<S3FaultAction['kind'], string> = {
  fail: 'failed',
  'drop-reply': 'dropped-reply',
  cut: 'cut',
  delay: 'delayed',
  'late-200-error': 'completed-with-error',
  'cut-body': 'cut-body',
  'slow-body': 'slow-body',
  'flip-byte': 'flipped-byte',
};

/** One request from its head to its answer: parse → fault → operation → record → send. */
export class S3Server {
  constructor(
    private readonly store: Store,
    private readonly faults: S3Faults,
    private readonly log: RequestLog | undefined,
  ) {}

  async serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const requestId = randomBytes(8).toString('hex').toUpperCase();
    const path = message.url?.split('?')[0] ?? '';
    const record: RequestRecord = { at: new Date().toISOString(), service: 's3', operation: 'Unknown', resource: path.slice(1), status: 0 };
    let fault: S3FaultAction | undefined;
    let reply: Reply | undefined;
    try {
      const request = parseRequest(message);
      const { operation, bucket, key, detail } = request;
      Object.assign(record, { operation, detail, resource: key === '' ? bucket : `${bucket}/${key}` });
      checkRequest(request);
      fault = this.faults.take(request);
      if (fault) record.fault = FAULT_WORDS[fault.kind];
      reply = await this.answer(request, fault);
    } catch (error) {
      const failure = error instanceof S3Error ? error : s3Error('InternalError');
      record.error = failure.code;
      if (failure !== error) record.detail = { ...record.detail, cause: String(error) };
      reply = errorReply(failure, path, requestId);
    }
    if (reply) record.status = reply.status;
    this.log?.add(record); // before the answer: whoever has the answer finds the record
    if (reply === undefined || fault?.kind === 'drop-reply') message.socket.destroy();
    else await send(message, response, reply, requestId, fault);
  }

  /** Undefined where the connection shall be cut instead. */
  private async answer(request: S3Request, fault: S3FaultAction | undefined): Promise<Reply | undefined> {
    switch (fault?.kind) {
      case 'cut':
        return undefined;
      case 'fail':
        throw new S3Error(fault.code, fault.status, 'Injected fault');
      case 'late-200-error':
        throw new S3Error(fault.code, 200, 'Injected fault');
      case 'flip-byte':
        request.corrupt = true;
        break;
      case 'delay':
        await delay(request.message, fault.ms);
        break;
      case 'drop-reply':
      case 'cut-body':
      case 'slow-body':
      case undefined:
        break;
    }
    return OPERATIONS[request.operation](request, this.store);
  }
}

/** Ends early when the client goes away, so that nothing waits for a fault that nobody will see. */
async function delay(message: IncomingMessage, ms: number): Promise<void> {
  const gone = new AbortController();
  const leave = (): void => gone.abort();
  message.socket.once('close', leave);
  try {
    await wait(ms, undefined, { signal: gone.signal });
  } catch {
    throw s3Error('IncompleteBody');
  } finally {
    message.socket.off('close', leave);
  }
}

function errorReply({ code, status, message, elements }: S3Error, path: string, requestId: string): Reply {
  const more = Object.entries(elements).map(([name, value]) => leaf(name, value));
  const content = [leaf('Code', code), leaf('Message', message), ...more, leaf('Resource', path), leaf('RequestId', requestId)];
  const waiting = status === 200 ? ' \n \n' : '';
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n${waiting}<Error>${content.join('')}<HostId>local</HostId></Error>`;
  return { status, body };
}

async function send(
  message: IncomingMessage,
  response: ServerResponse,
  reply: Reply,
  requestId: string,
  fault: S3FaultAction | undefined,
): Promise<void> {
  const headers: Record<string, string | number> = { server: 'AmazonS3', 'x-amz-request-id': requestId, 'x-amz-id-2': 'local' };
  const body = reply.status === 304 ? undefined : reply.body;
  if (body !== undefined) Object.assign(headers, { 'content-type': 'application/xml', 'content-length': Buffer.byteLength(body) });
  else if (reply.stream === undefined && reply.status !== 204 && reply.status !== 304) headers['content-length'] = 0;
  response.writeHead(reply.status, { ...headers, ...reply.headers });
  if (message.method === 'HEAD') response.end();
  else if (reply.stream === undefined) response.end(body);
  else if (fault?.kind === 'cut-body') await sendCut(response, reply.stream(), fault.afterBytes);
  else if (fault?.kind === 'slow-body') await sendSlowly(response, reply.stream(), fault.bytesPerSecond);
  else await pipeline(reply.stream(), response).catch(() => response.destroy()); // the reader left
}

/** What was sent has left before the connection ends. */
async function sendCut(response: ServerResponse, bytes: AsyncIterable<Buffer>, afterBytes: number): Promise<void> {
  let left = afterBytes;
  for await (const chunk of bytes) {
    const part = chunk.subarray(0, left);
    await new Promise((resolve) => response.write(part, resolve));
    left -= part.length;
    if (left === 0) break;
  }
  response.destroy();
}

async function sendSlowly(response: ServerResponse, bytes: AsyncIterable<Buffer>, bytesPerSecond: number): Promise<void> {
  const portion = Math.max(1, Math.round(bytesPerSecond / 10));
  for await (const chunk of bytes)
    for (let at = 0; at < chunk.length && !response.destroyed; at += portion) {
      response.write(chunk.subarray(at, at + portion));
      await wait(100);
    }
  response.end();
}
