import type { Command } from 'commander';
import type { ReclaimPreview, ReclaimTurn } from '../../batches/index.js';
import { REQUIRED_SETTINGS } from '../../config/index.js';
import type { Cli } from '../cli.js';
import { EXIT_DETACHED, EXIT_FAILED } from '../exit-codes.js';
import { heldBatchTable } from '../held-batches.js';
import { bar, formatDuration, StatusLine } from '../presentation/index.js';
import { reclaimTable } from '../reclaim-table.js';
import { seconds } from '../seconds.js';
import type { Services } from '../services.js';

export function addReclaimCommand(program: Command, cli: Cli): void {
  program
    .command('reclaim')
    .description('watch the running batches for four batch heartbeat intervals, and take those whose holders stay silent')
    .option('--dry-run', 'only say what would be taken')
    .option('--wide', 'ids and names whole, every column')
    .option('--json', 'one JSON object')
    .action((options: ReclaimOptions) =>
      cli.use(REQUIRED_SETTINGS, (services) => (options.dryRun ? showPreview : reclaimSilent)(cli, services, options)),
    );
}

interface ReclaimOptions {
  dryRun?: true;
  wide?: true;
  json?: true;
}

async function showPreview(cli: Cli, { previewReclaim }: Services, { wide, json }: ReclaimOptions): Promise<void> {
  const preview = await previewReclaim.list();
  if (json) return cli.printJson({ watchS: preview.watchMs / 1_000, batches: preview.batches });
  if (preview.batches.length === 0) return cli.tell(nothingOf(preview));
  cli.print(
    heldBatchTable(preview.batches, cli.width(wide), [
      { title: 'WOULD BE', of: ({ would }) => (would.kind === 'give-up' ? 'given up' : `try ${would.attempts}`) },
    ]),
  );
  cli.tell(
    `These would be taken if their holders stay silent for ${formatDuration(preview.watchMs)} more. ` +
      'Stored times alone never condemn: clocks of hosts differ, so a reclaimer watches for four batch heartbeat intervals first.',
  );
}

async function reclaimSilent(cli: Cli, services: Services, { wide, json }: ReclaimOptions): Promise<void> {
  // With this little to watch, stored times must agree: what the preview leaves out cannot be taken.
  const preview = await services.previewReclaim.list();
  if (preview.batches.length === 0) return json ? cli.printJson(summaryOf([])) : cli.tell(nothingOf(preview));
  const turns = await cli.interruptible(async (signal) => {
    if (!(await watch(cli, services, preview, signal))) return undefined;
    // A job that ends with its last batch waits for Step Functions as long as it takes; after Ctrl-C the service goes on with it.
    signal.addEventListener('abort', () => void services.completeJob.stop(), { once: true });
    const taken = await takeSilent(services, signal);
    return signal.aborted && taken.every(({ reclaims }) => reclaims.length === 0) ? undefined : taken;
  });
  if (turns === undefined) {
    cli.exitCode = EXIT_DETACHED;
    return cli.tell('Left: nothing was taken');
  }
  const summary = summaryOf(turns);
  if (summary.failed > 0) cli.exitCode = EXIT_FAILED;
  if (json) return cli.printJson(summary);
  if (summary.reclaims.length > 0) cli.print(reclaimTable(summary.reclaims, cli.width(wide)));
  else if (summary.moved + summary.failed === 0) return cli.tell('Nothing was taken: every holder gave a sign of life meanwhile');
  cli.tell(
    `${summary.requeued} requeued, ${summary.givenUp} given up, ${summary.moved} moved by others meanwhile, ${summary.failed} failed`,
  );
}

/** False: interrupted. Looks as often as the service does, or the use case would doubt itself for being late. */
async function watch(
  cli: Cli,
  { reclaim, reclaimIntervalMs }: Services,
  { watchMs, batches }: ReclaimPreview,
  signal: AbortSignal,
): Promise<boolean> {
  const line = new StatusLine(cli.terminal.err);
  try {
    await reclaim.runOnce();
    const since = performance.now();
    let lookedAt = since;
    for await (const _second of seconds(signal)) {
      const now = performance.now();
      if (now - since >= watchMs) return true;
      if (now - lookedAt >= reclaimIntervalMs) {
        lookedAt = now;
        await reclaim.runOnce();
      }
      const times = `${formatDuration(now - since)} of ${formatDuration(watchMs)}`;
      line.show('WATCHING', `WATCHING  ${bar((now - since) / watchMs)}  ${times}  ${batches.length} silent`);
    }
    return false;
  } finally {
    line.end();
  }
}

/** As many turns as one whole look takes: one that doubts itself takes none, and one that runs out of time leaves some. */
async function takeSilent({ reclaim, completeJob }: Services, signal: AbortSignal): Promise<ReclaimTurn[]> {
  const turns: ReclaimTurn[] = [];
  let looksToEnd = 1;
  for (let again = true; again && !signal.aborted;) {
    const turn = await reclaim.runOnce();
    await reclaim.idle();
    // The rest of a look that was begun while watching leaves out what came before it.
    const takesOfAPart = turn.doubted || (turns.length === 0 && !turn.beginsLook);
    if (takesOfAPart) looksToEnd = 2;
    if (turn.endsLook) looksToEnd--;
    turns.push(turn);
    again = looksToEnd > 0 || (turn.left > 0 && turn.reclaims.length > 0);
  }
  await completeJob.idle();
  return turns;
}

function summaryOf(turns: readonly ReclaimTurn[]) {
  const sum = (of: (turn: ReclaimTurn) => number) => turns.reduce((total, turn) => total + of(turn), 0);
  return {
    requeued: sum(({ requeued }) => requeued),
    givenUp: sum(({ givenUp }) => givenUp),
    moved: sum(({ moved }) => moved),
    failed: sum(({ failed }) => failed),
    reclaims: turns.flatMap(({ reclaims }) => reclaims),
  };
}

function nothingOf({ watchMs }: ReclaimPreview): string {
  return `Nothing to reclaim: no running batch would be silent for its TTL in ${formatDuration(watchMs)}`;
}
