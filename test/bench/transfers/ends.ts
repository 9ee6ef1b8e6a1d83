import { cpuSecondsOf } from '../processes/cpu.js';
import { TalkingProcess } from '../processes/talking-process.js';
import { BenchError } from '../report/bench-error.js';
import type { StoredObjects } from './stored-objects.js';

/** Where the files come from and go to: two processes that serve every contender alike. */
export class Ends {
  private constructor(
    private readonly origin: TalkingProcess,
    private readonly sink: TalkingProcess,
    readonly originUrl: string,
    readonly sinkUrl: string,
  ) {}

  static async start(latencyMs: number): Promise<Ends> {
    const origin = TalkingProcess.start('The origin', new URL('../origin/main.js', import.meta.url), [String(latencyMs)]);
    const sink = TalkingProcess.start('The sink', new URL('../sink/main.js', import.meta.url));
    const [{ url: originUrl }, { url: sinkUrl }] = await Promise.all([origin.hear<{ url: string }>(), sink.hear<{ url: string }>()]);
    return new Ends(origin, sink, originUrl, sinkUrl);
  }

  /** CPU seconds that each has used since its start. */
  cpuSeconds(): { origin: number; sink: number } {
    return { origin: cpuSecondsOf(this.origin.pid), sink: cpuSecondsOf(this.sink.pid) };
  }

  async clear(): Promise<void> {
    await this.ask('clear', 'POST');
  }

  async stored(): Promise<StoredObjects> {
    return (await (await this.ask('objects', 'GET')).json()) as StoredObjects;
  }

  async stop(): Promise<void> {
    await Promise.all([this.origin.stop(), this.sink.stop()]);
  }

  private async ask(what: string, method: string): Promise<Response> {
    const answer = await fetch(`${this.sinkUrl}/-/${what}`, { method });
    if (!answer.ok) throw new BenchError(`The sink answered ${answer.status}`);
    return answer;
  }
}
