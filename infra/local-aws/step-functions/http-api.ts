import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { RequestLog } from '../request-log.js';
import { ApiError } from './api-error.js';
import type { Fields } from './fields.js';
import type { LogNote, Operation } from './operation.js';

const TARGET_PREFIX = 'AWSStepFunctions.';
/** Longer than any client keeps an idle connection: the client closes first, so no request runs into a closing socket. */
const KEEP_ALIVE_MS = 75_000;

interface Reply {
  status: number;
  body: object;
  error?: string;
}

/** AWS JSON 1.0: the operation in X-Amz-Target, the error's name in `__type` and a header. Signatures are not checked. */
export function createApiServer(operations: ReadonlyMap<string, Operation>, log: RequestLog | undefined): Server {
  return createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => void respond(operations, log, request, response));
}

async function respond(
  operations: ReadonlyMap<string, Operation>,
  log: RequestLog | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const at = new Date().toISOString();
  const name = String(request.headers['x-amz-target']).replace(TARGET_PREFIX, '');
  const note: LogNote = {};
  const body = await text(request).catch(() => undefined);
  if (body === undefined) return; // the client hung up in the middle of its request
  const reply = answer(operations.get(name), body, note);
  log?.add({
    at,
    service: 'states',
    operation: name,
    status: reply.status,
    ...(reply.error === undefined ? {} : { error: reply.error }),
    ...note,
  });
  const headers = { 'content-type': 'application/x-amz-json-1.0', 'x-amzn-requestid': randomUUID() };
  response.writeHead(reply.status, { ...headers, ...(reply.error === undefined ? {} : { 'x-amzn-errortype': reply.error }) });
  response.end(JSON.stringify(reply.body));
}

function answer(operation: Operation | undefined, body: string, note: LogNote): Reply {
  try {
    if (operation === undefined)
      throw new ApiError('UnknownOperationException', 'The requested operation is not supported by the embedded AWS');
    return { status: 200, body: operation(parse(body), note) };
  } catch (error) {
    const { status, name, message } = error instanceof ApiError ? { status: 400, name: error.name, message: error.message } : INTERNAL;
    return { status, error: name, body: { __type: name, message } };
  }
}

const INTERNAL = { status: 500, name: 'InternalFailure', message: 'The embedded AWS failed' };

function parse(body: string): Fields {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    value = undefined;
  }
  if (typeof value !== 'object' || value === null) throw new ApiError('SerializationException', 'The request is not a JSON object');
  return value as Fields;
}
