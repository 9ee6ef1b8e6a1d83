import type { LifecyclePart } from '../../platform/index.js';
import { toLoggable, type AppLogger, type Clock, type MonotonicMs } from '../../shared/index.js';
import type { ReclaimStaleBatchesUseCase } from '../application/reclaim-stale-batches.use-case.js';

/** Share by which each wait differs, so that a fleet's reclaimers do not march in step. */
const JITTER = 0.2;
const HANGING_TURNS = 4;

/** One reclaim turn before the first receive, then one every interval until stopped. An error ends a turn, not the loop. */
export class ReclaimLoop implements LifecyclePart {
  private readonly stopping = new AbortController();
  private loop: Promise<void> | undefined;
  private lastTurnAt: MonotonicMs | undefined;

  constructor(
    private readonly settings: { enabled: boolean; intervalMs: number },
    private readonly reclaim: ReclaimStaleBatchesUseCase,
    private readonly tools: { clock: Clock; logger: AppLogger },
  ) {}

  async start(): Promise<void> {
    const { clock, logger } = this.tools;
    const { enabled, intervalMs } = this.settings;
    if (!enabled) return logger.info('Reclaim loop disabled via configuration');
    if (this.loop !== undefined) return;
    logger.info(`Reclaim loop started (interval: ${intervalMs}ms)`);
    this.lastTurnAt = clock.monotonicMs();
    const firstTurn = this.turn();
    this.loop = firstTurn.then(() => this.run(this.stopping.signal));
    await firstTurn;
  }

  async stop(): Promise<void> {
    if (this.loop === undefined) return;
    this.stopping.abort();
    await this.loop;
    await this.reclaim.stop();
    this.tools.logger.info('Reclaim loop stopped');
  }

  /** For the health answer: what keeps the loop from turning. */
  get problem(): string | undefined {
    if (!this.settings.enabled) return undefined;
    const silentMs = this.lastTurnAt === undefined ? 0 : this.tools.clock.monotonicMs() - this.lastTurnAt;
    return silentMs > this.settings.intervalMs * HANGING_TURNS + 60_000 ? `no turn for ${Math.round(silentMs / 1_000)} s` : undefined;
  }

  private async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.tools.clock.sleep(this.settings.intervalMs * (1 + (Math.random() - 0.5) * JITTER), signal);
      if (signal.aborted) return;
      await this.turn();
    }
  }

  private async turn(): Promise<void> {
    try {
      const { reclaims: _reclaims, ...counts } = await this.reclaim.runOnce();
      if (counts.stale > 0) this.tools.logger.warn('Stale batches found', counts);
    } catch (error) {
      this.tools.logger.error('Reclaim turn failed; the next one tries again', { error: toLoggable(error) });
    }
    this.lastTurnAt = this.tools.clock.monotonicMs();
  }
}
