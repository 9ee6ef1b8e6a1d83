import { table } from '../../../src/cli/presentation/index.js';
import type { CrashResult } from './crash-run.js';
import type { Scenario } from './scenarios.js';

export interface DoneRun {
  /** Its name. */
  scenario: string;
  write: number | undefined;
  of: number | undefined;
  result: CrashResult;
}

/** What the run was and how it ended. */
export function lineOf({ scenario, write, of, result }: DoneRun): string {
  const { writes, stoppedAt, recoveryMs, problems } = result;
  const verdict = problems.length === 0 ? 'ok' : 'FAILED';
  if (write === undefined) return `${scenario}  unharmed  ${verdict}  ${writes.length} writes: ${inShort(writes)}`;
  const where = stoppedAt ?? `not reached: only ${writes.length} writes`;
  const after = stoppedAt === undefined ? '' : `  ended ${seconds(recoveryMs)} later`;
  return `${scenario}  ${write}/${of}  ${verdict}  ${where}${after}`;
}

/** One line a scenario. */
export function tableOf(scenarios: readonly Scenario[], unharmed: readonly DoneRun[], crashed: readonly DoneRun[]): string {
  const rows = scenarios.map(({ name }) => {
    const [runs, first] = [crashed.filter(({ scenario }) => scenario === name), unharmed.find(({ scenario }) => scenario === name)];
    const stopped = runs.filter(({ result }) => result.stoppedAt !== undefined);
    const slowest = stopped.toSorted((a, b) => b.result.recoveryMs - a.result.recoveryMs)[0];
    return [
      name,
      String(first?.result.writes.length ?? 0),
      String(runs.filter(({ result }) => result.problems.length === 0).length),
      String(runs.filter(({ result }) => result.problems.length > 0).length),
      String(runs.length - stopped.length),
      slowest === undefined ? '' : `${seconds(slowest.result.recoveryMs)} after ${slowest.write}: ${slowest.result.stoppedAt}`,
    ];
  });
  const right = { align: 'right' as const };
  const columns = [
    { title: 'SCENARIO' },
    { title: 'WRITES', ...right },
    { title: 'PASSED', ...right },
    { title: 'FAILED', ...right },
    { title: 'NOT REACHED', ...right },
    { title: 'SLOWEST RECOVERY' },
  ];
  return table(columns, rows);
}

/**
 * Kinds of writes of a scenario's unharmed run at which no victim died: what is written side by side comes in another order each time,
 * so that one number may strike one kind twice.
 */
export function missedOf(scenarios: readonly Scenario[], unharmed: readonly DoneRun[], crashed: readonly DoneRun[]): string[] {
  return scenarios.flatMap(({ name }) => {
    const ofIt = ({ scenario }: DoneRun) => scenario === name;
    const struck = new Set(crashed.filter(ofIt).map(({ result }) => result.stoppedAt));
    const missed = new Set(unharmed.filter(ofIt).flatMap(({ result }) => result.writes.filter((write) => !struck.has(write))));
    return missed.size === 0 ? [] : [`${name}: nobody died at ${[...missed].join(', ')}`];
  });
}

/** `file × 2, checkpoint` for `file, file, checkpoint`. */
function inShort(writes: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const write of writes) counts.set(write, (counts.get(write) ?? 0) + 1);
  return [...counts].map(([write, count]) => (count === 1 ? write : `${write} × ${count}`)).join(', ');
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
