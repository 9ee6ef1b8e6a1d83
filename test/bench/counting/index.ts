import { COUNTING_KINDS, measureCounting, TASKS_PER_SECOND, type CountingCost } from './counting.js';

/** Design: counting costs no more than this, index writes included. */
const LIMIT_UNITS_PER_TASK = 0.1;

/** Prints what counting costs beside one ADD per task. Answers whether it is within the limit. */
export async function benchCounting(sizes: readonly number[], json: boolean): Promise<boolean> {
  const results: ReturnType<typeof summarize>[] = [];
  for (const tasks of sizes) {
    process.stderr.write(`counting: a job of ${tasks.toLocaleString('en')} tasks …\n`);
    results.push(summarize(await measureCounting(tasks)));
  }
  process.stdout.write(
    json ? `${JSON.stringify({ bench: 'counting', limitUnitsPerTask: LIMIT_UNITS_PER_TASK, results })}\n` : asTable(results),
  );
  return results.every(({ countingPerTask }) => countingPerTask <= LIMIT_UNITS_PER_TASK);
}

function summarize({ tasks, batches, costs, addPerTaskUnits }: CountingCost) {
  const units = (kinds: (kind: string) => boolean) =>
    [...costs].filter(([kind]) => kinds(kind)).reduce((sum, [, { tableUnits, indexUnits }]) => sum + tableUnits + indexUnits, 0);
  const countingPerTask = units((kind) => COUNTING_KINDS.includes(kind)) / tasks;
  const allPerTask = units(() => true) / tasks;
  const addPerTask = addPerTaskUnits / tasks;
  return {
    tasks,
    batches,
    countingPerTask,
    allPerTask,
    addPerTask,
    ratio: addPerTask / countingPerTask,
    writes: Object.fromEntries(costs),
  };
}

function asTable(results: readonly ReturnType<typeof summarize>[]): string {
  const lines = [
    `DynamoDB write units per task, index writes included (${TASKS_PER_SECOND} tasks/s, batch heartbeat 10 s; limit for counting ${LIMIT_UNITS_PER_TASK})`,
    ['tasks', 'batches', 'counting', 'every write', 'one ADD per task', 'ADD / counting'].map((title) => title.padStart(17)).join(''),
  ];
  for (const { tasks, batches, countingPerTask, allPerTask, addPerTask, ratio } of results)
    lines.push(
      [
        tasks.toLocaleString('en'),
        batches.toLocaleString('en'),
        countingPerTask.toFixed(4),
        allPerTask.toFixed(4),
        addPerTask.toFixed(1),
        ratio.toFixed(0),
      ]
        .map((text) => text.padStart(17))
        .join(''),
    );
  return `${lines.join('\n')}\n`;
}
