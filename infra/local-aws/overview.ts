import { relative } from 'node:path';
import { styleText } from 'node:util';
import type { Coordinator } from './coordinators.js';
import type { LocalAws } from './local-aws.js';

/** One line for programs. */
export function asJson(aws: LocalAws, coordinators: readonly Coordinator[]): string {
  return JSON.stringify({ endpoints: aws.endpoints, ...aws.resources, coordinators, environment: aws.environment() });
}

/** What a person needs to begin, in 80 columns. */
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
    ['Bucket', resources.bucket],
    ...coordinators.flatMap(({ healthUrl, pid, log }): [string, string][] => [
      ['Coordinator', `${healthUrl} (pid ${pid})`],
      ['  its log', relative(process.cwd(), log)],
    ]),
  ];
  return [
    styleText('bold', `The embedded AWS is running, and ${running(coordinators.length)}`),
    'Ctrl-C stops everything.',
    ...(dataDir === undefined
      ? ['Rows and objects are lost then; --data-dir <folder> keeps them.']
      : [`Rows and objects are kept in ${dataDir};`, 'queues and executions live in memory and are lost then.']),
    '',
    ...rows.map(([name, value]) => `  ${name.padEnd(16)}${value}`),
    '',
    styleText('bold', 'A first job, from another terminal in this directory:'),
    `  source ${environmentFile}`,
    '  echo https://nodejs.org/dist/v24.0.0/SHASUMS256.txt > first.txt',
    '  npx export-worker submit first.txt --wait',
    'What else there is: npx export-worker --help',
    '',
  ].join('\n');
}

function running(coordinators: number): string {
  if (coordinators === 0) return 'no coordinator: jobs wait until a service is started.';
  return coordinators === 1 ? 'one coordinator (a process of the service).' : `${coordinators} coordinators (processes of the service).`;
}
