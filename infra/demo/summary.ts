import {
  columnsOf,
  facts,
  failureLines,
  groupFailures,
  formatBytes,
  formatDuration,
  sentence,
  type ProgressOutput,
} from '../../src/cli/index.js';
import type { DemoReport } from './run-demo.js';

/** The last line of `--json`. */
export function jsonSummary(report: DemoReport, durationMs: number) {
  const { evidence, jobId, mainLoopDelayP99Ms } = report;
  const { job } = evidence;
  return {
    executionStatus: evidence.execution.status,
    jobId,
    jobStatus: job?.status ?? null,
    totalTasks: job?.totalTasks ?? 0,
    completedTasks: job?.completedTasks ?? 0,
    failedTasks: job?.failedTasks ?? 0,
    objectsVerified: verifiedObjects(report),
    bytes: bytesOf(report),
    taskHeartbeats: heartbeatsOf(report),
    mainLoopDelayP99Ms,
    durationMs: Math.round(durationMs),
  };
}

/** For people. */
export async function summaryText(report: DemoReport, durationMs: number, output: ProgressOutput): Promise<string> {
  const width = columnsOf(output);
  const { evidence, bucket, prefix, retries, checks } = report;
  const { job, execution, results, tokens } = evidence;
  const answers = tokens.flatMap((token) => token.answers).map(({ kind, accepted }) => `${kind}${accepted ? '' : ' (refused)'}`);
  const failed = results?.failed ?? [];
  const lines = failureLines(await groupFailures(failed), { total: failed.length, prefix, width });
  const stored = evidence.objects.size > 0;
  const failedChecks = checks.filter(({ problems }) => problems.length > 0);
  return [
    '\n',
    facts(
      [
        ['Execution', execution.status],
        ['Files', `${job?.completedTasks ?? 0} stored, ${job?.failedTasks ?? 0} failed, ${job?.totalTasks ?? 0} in all`],
        ['Verified', `${verifiedObjects(report)} objects, byte for byte (${formatBytes(bytesOf(report))})`],
        ['Retries', retries === undefined ? undefined : `${retries} seen at the source`],
        ['Heartbeats', `${heartbeatsOf(report)} accepted`],
        ['Answers', answers.join(', ') || 'none'],
        ['Objects', stored ? `s3://${bucket}/${prefix}` : undefined],
        ['Results', stored && job?.resultKey !== undefined ? `s3://${bucket}/${job.resultKey}` : undefined],
        ['', stored ? 'gone with the demo; those of npm run local stay as long as it runs' : undefined],
        ['Took', formatDuration(durationMs)],
      ],
      width,
    ),
    ...(lines.length === 0 ? [] : ['\nFailed files:\n', ...lines.map((line) => `${line}\n`)]),
    ...(job?.totalTasks === 0 ? ['\nThe list names no file.\n'] : []),
    '\n',
    ...(failedChecks.length === 0
      ? [sentence(`All ${checks.length} checks passed: ${checks.map(({ name }) => name).join(', ')}.\n`, output)]
      : failedChecks.map(({ name, problems }) => sentence(`FAILED ${name}: ${problems.slice(0, 5).join('; ')}\n`, output))),
  ].join('');
}

/** Objects whose bytes were read back and are what their result lines say. */
function verifiedObjects({ evidence: { results, objects } }: DemoReport): number {
  const same = (line: { key: string; size: number; sha256: string | null }) => {
    const object = objects.get(line.key);
    return object?.size === line.size && object.sha256 === line.sha256;
  };
  return results?.succeeded.filter(same).length ?? 0;
}

function bytesOf({ evidence }: DemoReport): number {
  return [...evidence.objects.values()].reduce((sum, { size }) => sum + size, 0);
}

function heartbeatsOf({ evidence }: DemoReport): number {
  return evidence.tokens.reduce((sum, { heartbeats }) => sum + heartbeats.length, 0);
}
