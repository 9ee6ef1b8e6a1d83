import { createHash, randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { StartExecutionCommand } from '@aws-sdk/client-sfn';
import { SECRET } from '../support/standing-rules.js';
import { send, sha256, type Origin } from '../support/origin.js';
import type { PlannedFile, PlannedJob } from './plan.js';
import type { World } from './world.js';

const LINE_EVERY_MS = 15;

/** What must have become of one file, whatever happened. */
export type ExpectedFile = { key: string } & ({ sizeBytes: number; sha256: string } | { code: 'HTTP_404' });

/** One execution of the shipped state machine, and what must come of it. */
export class ChaosJob {
  private constructor(
    private readonly plan: PlannedJob,
    readonly expected: readonly ExpectedFile[],
    readonly input: object,
    readonly executionArn: string,
  ) {}

  static async start(world: World, plan: PlannedJob): Promise<ChaosJob> {
    const folder = randomUUID().slice(0, 8);
    const served = plan.files.map((file, index) => serve(world, file, `${folder}/${String(index).padStart(3, '0')}`));
    const list = served.map(({ entry }) => entry);
    const input = {
      exportId: 'chaos',
      userId: 'chaos',
      source: plan.listDrips ? { manifest: drip(world.origin, `/${folder}/list.jsonl`, list) } : { files: list },
      options: { toleratedFailureCount: plan.tolerant ? plan.files.length : 0, headers: { 'x-api-key': SECRET } },
    };
    const { executionArn = '' } = await world.clients.states.send(
      new StartExecutionCommand({ stateMachineArn: world.aws.resources.stateMachineArn, input: JSON.stringify(input) }),
    );
    return new ChaosJob(
      plan,
      served.map(({ expected }) => expected),
      input,
      executionArn,
    );
  }

  /** The execution's name. */
  get jobId(): string {
    return this.executionArn.slice(this.executionArn.lastIndexOf(':') + 1);
  }

  get prefix(): string {
    return `exports/${this.jobId}/`;
  }

  get expectedTotals() {
    const sizes = this.expected.flatMap((file) => ('sizeBytes' in file ? [file.sizeBytes] : []));
    return {
      totalTasks: this.expected.length,
      completedTasks: sizes.length,
      failedTasks: this.expected.length - sizes.length,
      bytesProcessed: sizes.reduce((sum, size) => sum + size, 0),
    };
  }

  get expectedStatus(): 'COMPLETED' | 'FAILED' {
    return this.plan.tolerant || this.expectedTotals.failedTasks === 0 ? 'COMPLETED' : 'FAILED';
  }
}

/** Puts the file at the origin; answers its entry in the request and its expected end. */
function serve({ origin, limit }: World, file: PlannedFile, key: string): { entry: object; expected: ExpectedFile } {
  const body = bytesOf(key, file.sizeBytes);
  const url = origin.on(`/${key}`, (_request, response, hit) => {
    if (!limit.allows()) return void response.writeHead(429, { 'retry-after': '1' }).end('too many');
    setTimeout(() => answer(response, file, body, hit), file.latencyMs);
  });
  const digest = sha256(body);
  const stated = file.stated ? { size: body.length, checksum: { algorithm: 'sha256', value: digest } } : {};
  return {
    entry: { url: `${url}?signature=${SECRET}`, key, ...stated },
    expected: file.behaviour.kind === 'missing' ? { key, code: 'HTTP_404' } : { key, sizeBytes: body.length, sha256: digest },
  };
}

function answer(response: ServerResponse, { behaviour }: PlannedFile, body: Buffer, hit: number): void {
  switch (behaviour.kind) {
    case 'plain':
      return send(response, body);
    case 'chunked':
      response.writeHead(200, { 'content-type': 'text/plain' });
      response.write(body.subarray(0, body.length / 2));
      response.end(body.subarray(body.length / 2));
      return;
    case 'missing':
      response.writeHead(404).end('not here');
      return;
    case 'busy':
      if (hit > behaviour.times) return send(response, body);
      response.writeHead(503).end('later');
      return;
    case 'patience':
      if (hit > behaviour.times) return send(response, body);
      response.writeHead(429, { 'retry-after': '1' }).end('later');
      return;
    case 'silent':
      setTimeout(() => send(response, body), behaviour.forMs);
      return;
    case 'cut':
      if (hit > behaviour.times) return send(response, body);
      response.writeHead(200, { 'content-length': body.length });
      response.write(body.subarray(0, body.length / 2), () => response.destroy());
  }
}

/** Sends a list line by line. @returns its URL */
function drip(origin: Origin, path: string, list: readonly object[]): string {
  return origin.on(path, (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' });
    const lines = list.map((entry) => `${JSON.stringify(entry)}\n`);
    const next = setInterval(() => {
      const line = lines.shift();
      if (line !== undefined) return response.write(line);
      clearInterval(next);
      return response.end();
    }, LINE_EVERY_MS);
    response.once('close', () => clearInterval(next));
  });
}

/** Begins with the secret, which must not get into a log; no two files are alike. */
function bytesOf(key: string, sizeBytes: number): Buffer {
  const block = createHash('sha512').update(key).digest();
  return Buffer.concat([Buffer.from(`${SECRET} ${key} `), Buffer.alloc(sizeBytes, block)]);
}
