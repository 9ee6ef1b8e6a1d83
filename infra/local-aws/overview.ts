import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { styleText } from 'node:util';
import type { Coordinator } from './coordinators.js';
import type { LocalAws } from './local-aws.js';

/**
 * Shell commands that let a terminal's programs find the embedded AWS, and nothing of a person's own account.
 * @returns the process whose file it was, when that still runs; `remove` leaves the file when another has written it since
 */
export function writeEnvironmentFile(path: string, environment: Record<string, string>): { formerOwner?: number; remove: () => void } {
  const owner = Number(/^# local (\d+)$/m.exec(contentOf(path) ?? '')?.[1] ?? process.pid);
  const text = [
    `# local ${process.pid}`,
    'unset AWS_PROFILE AWS_SESSION_TOKEN',
    ...Object.entries(environment).map(([name, value]) => `export ${name}='${value}'`),
    '',
  ].join('\n');
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  const remove = () => {
    if (contentOf(path) === text) rmSync(path);
  };
  return owner !== process.pid && isRunning(owner) ? { formerOwner: owner, remove } : { remove };
}

function contentOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** One line for programs. */
export function asJson(aws: LocalAws, coordinators: readonly Coordinator[]): string {
  return JSON.stringify({ endpoints: aws.endpoints, ...aws.resources, coordinators, environment: aws.environment() });
}

/** What a person needs to begin. */
export function asText(
  { endpoints, resources }: LocalAws,
  coordinators: readonly Coordinator[],
  { dataDir, environmentFile }: { dataDir?: string | undefined; environmentFile: string },
): string {
  const rows: [string, string][] = [
    ['DynamoDB', endpoints.dynamodb],
    ['SQS', endpoints.sqs],
    ['S3', endpoints.s3],
    ['Step Functions', endpoints.states],
    ['Jobs queue', resources.jobsQueueUrl],
    ['Bucket', resources.bucket],
    ['State machine', resources.stateMachineArn],
    ['Coordinators', coordinators.length === 0 ? 'none: jobs wait until one is started' : `${coordinators.length} live`],
    ...coordinators.map(({ healthUrl, pid }): [string, string] => ['Coordinator', `${healthUrl} (pid ${pid})`]),
  ];
  const kept =
    dataDir === undefined
      ? 'Everything is lost at the end; --data-dir keeps rows and objects.'
      : `Rows and objects are kept in ${dataDir}; queues and executions live in memory and are lost at the end.`;
  return [
    styleText('bold', 'The embedded AWS is running. Ctrl-C stops it.'),
    '',
    ...rows.map(([name, value]) => `  ${name.padEnd(16)}${value}`),
    '',
    kept,
    '',
    styleText('bold', 'A first job, from another terminal in this directory:'),
    `  source ${environmentFile}`,
    `  echo '{"url":"https://nodejs.org/dist/v24.0.0/SHASUMS256.txt","key":"sums.txt"}' > files.jsonl`,
    '  npm run cli -- submit files.jsonl --wait',
    '',
  ].join('\n');
}
