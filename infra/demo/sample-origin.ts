import { createServer, type Server, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { listen } from '../local-aws/listen.js';
import { contentOf, type SampleFile } from './sample-files.js';

const TRICKLE_PIECES = 40;
const BUSY_ANSWERS = 2;

/** Serves the sample files, each in its way, and counts what was asked for. */
export class SampleOrigin {
  private readonly requests = new Map<string, number>();
  private readonly closing = new AbortController();

  private constructor(
    private readonly server: Server,
    private readonly url: string,
    private readonly trickleMs: number,
    readonly files: readonly SampleFile[],
  ) {}

  static async start(files: readonly SampleFile[], { trickleMs }: { trickleMs: number }): Promise<SampleOrigin> {
    const server = createServer();
    const origin = new SampleOrigin(server, await listen(server), trickleMs, files);
    const byPath = new Map(files.map((file) => [pathOf(file), file]));
    server.on('request', ({ url = '' }, response) => {
      const file = byPath.get(url);
      if (file === undefined) response.writeHead(404).end();
      // A client that hangs up is its own business.
      else origin.serve(file, response).catch(() => response.destroy());
    });
    return origin;
  }

  /** The list to export, JSONL. */
  get manifest(): string {
    return this.files.map((file) => `${JSON.stringify({ url: this.url + pathOf(file), key: file.key, ...file.stated })}\n`).join('');
  }

  requestsOf(file: SampleFile): number {
    return this.requests.get(file.key) ?? 0;
  }

  /** Requests beyond the first of each file. */
  get retries(): number {
    return this.files.reduce((sum, file) => sum + Math.max(0, this.requestsOf(file) - 1), 0);
  }

  async close(): Promise<void> {
    this.closing.abort();
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await closed;
  }

  private async serve(file: SampleFile, response: ServerResponse): Promise<void> {
    const count = this.requestsOf(file) + 1;
    this.requests.set(file.key, count);
    if (file.behaviour === 'missing') return void response.writeHead(404).end();
    if (file.behaviour === 'busy' && count <= BUSY_ANSWERS) return void response.writeHead(503).end();
    response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': file.size });
    if (file.behaviour === 'cut' && count === 1) return cutHalfWay(file, response);
    await pipeline(file.behaviour === 'trickle' ? this.trickle(file) : Readable.from(contentOf(file)), response);
  }

  private async *trickle(file: SampleFile): AsyncGenerator<Buffer> {
    for (const piece of contentOf(file, Math.ceil(file.size / TRICKLE_PIECES))) {
      yield piece;
      await sleep(this.trickleMs / TRICKLE_PIECES, undefined, { signal: this.closing.signal });
    }
  }
}

function cutHalfWay(file: SampleFile, response: ServerResponse): void {
  const [half] = contentOf(file, Math.ceil(file.size / 2));
  response.write(half, () => response.destroy());
}

function pathOf(file: SampleFile): string {
  return `/${file.key.split('/').map(encodeURIComponent).join('/')}`;
}
