import { setTimeout as sleep } from 'node:timers/promises';
import { DescribeExecutionCommand, StartExecutionCommand } from '@aws-sdk/client-sfn';
import { ExportService } from '../../support/export-service.js';
import { createAwsClients, type AwsClients } from '../../support/local-aws.js';
import { TalkingProcess } from '../processes/talking-process.js';
import { BenchError } from '../report/bench-error.js';
import { parseSamples, type Samples } from '../report/prometheus.js';
import { Ends } from '../transfers/ends.js';

type Environment = Record<string, string>;

/** Everything that the built service needs, each a process of its own: origin, sink in place of S3, and the embedded AWS for the rest. */
export class ServiceWorld {
  private service: ExportService | undefined;

  private constructor(
    readonly ends: Ends,
    private readonly aws: TalkingProcess,
    readonly environment: Environment,
    readonly clients: AwsClients,
  ) {}

  static async start(latencyMs: number): Promise<ServiceWorld> {
    const ends = await Ends.start(latencyMs);
    const aws = TalkingProcess.start('The embedded AWS', new URL('./aws-main.js', import.meta.url));
    const { environment } = await aws.hear<{ environment: Environment }>();
    // As against S3 itself: with its CRC32 of the full object.
    const ours = { ...environment, AWS_ENDPOINT_URL_S3: ends.sinkUrl, S3_CHECKSUMS: 'full-object' };
    return new ServiceWorld(ends, aws, ours, createAwsClients(ours));
  }

  /** With the settings it ships with, but for these. */
  async startService(settings: Environment = {}): Promise<number> {
    const shipped = { NODE_ENV: 'production', LOG_LEVEL: 'info', WORKER_POOL_SIZE: '4' };
    const service = await ExportService.start({ ...this.environment, ...shipped, ...settings });
    process.once('exit', () => service.signal('SIGKILL'));
    this.service = service;
    return service.pid;
  }

  /** Answers the ARN of its execution. */
  async startJob(source: object): Promise<string> {
    const input = JSON.stringify({ exportId: 'bench', userId: 'bench', source });
    const { executionArn } = await this.clients.states.send(
      new StartExecutionCommand({ stateMachineArn: this.environment['STATE_MACHINE_ARN'], input }),
    );
    return executionArn ?? '';
  }

  async isRunning(executionArn: string): Promise<boolean> {
    const { status, error } = await this.clients.states.send(new DescribeExecutionCommand({ executionArn }));
    if (status !== 'RUNNING' && status !== 'SUCCEEDED') throw new BenchError(`The job ended as ${status}: ${error}`);
    return status === 'RUNNING';
  }

  async samples(): Promise<Samples> {
    try {
      return parseSamples(await (await fetch(`${this.service?.url}/metrics`)).text());
    } catch (cause) {
      const lastWords = this.service?.lines.slice(-5).join('\n');
      throw new BenchError(`The service does not answer; its last words:\n${lastWords}`, { cause });
    }
  }

  /** Waits as long as it must for `isSo`, and looks four times a second. */
  async until(isSo: () => Promise<boolean>): Promise<void> {
    while (!(await isSo())) await sleep(250);
  }

  /** The service is killed: what it would end well is not measured. */
  async stop(): Promise<void> {
    await this.service?.kill();
    this.clients.destroy();
    await this.aws.stop();
    await this.ends.stop();
  }
}
