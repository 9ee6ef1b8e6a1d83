import { beforeEach, expect, it } from '@jest/globals';
import { SourceTime, TimedTurn } from '../../../../src/intake/adapters/source-time.js';
import { ExpansionTurn } from '../../../../src/intake/application/expansion-turns.js';
import { newClock, onEachClock } from '../../../support/each-clock.js';
import type { FakeClock } from '../../../support/fake-clock.js';

const LIMIT_MS = 60_000;

/** After each wait it stands in line for so long. */
class TurnInLine extends ExpansionTurn {
  constructor(
    private readonly clock: FakeClock,
    private readonly inLineMs: number,
  ) {
    super();
  }

  override async whileWaiting<T>(wait: () => Promise<T>): Promise<T> {
    const waited = await wait();
    await this.clock.sleep(this.inLineMs);
    return waited;
  }

  override whileInLine<T>(wait: () => Promise<T>): Promise<T> {
    return this.whileWaiting(wait);
  }
}

onEachClock('the time of a list’s source', () => {
  let clock: FakeClock;
  let time: SourceTime;

  beforeEach(() => {
    clock = newClock();
    time = new SourceTime(LIMIT_MS, clock);
  });

  it('stands while the list waits for its turn, or for room on the disk', async () => {
    const turn = new TimedTurn(new TurnInLine(clock, 3_600_000), time);
    const reading = (async () => {
      for (let chunk = 0; chunk < 5; chunk++) await turn.whileWaiting(() => clock.sleep(1_000));
      await turn.whileInLine(() => clock.sleep(3_600_000));
    })();
    await clock.advance(8 * 3_600_000);
    await reading;
    expect(time.isOver.aborted).toBe(false);
    expect(clock.sleepers).toBe(0);
  });

  it('is what all waits for it take together', async () => {
    void (async () => {
      for (;;) {
        await time.during(() => clock.sleep(10_000));
        await clock.sleep(10_000);
      }
    })();
    await clock.advance(109_000);
    expect(time.isOver.aborted).toBe(false);
    await clock.advance(2_000);
    expect(time.isOver.reason).toMatchObject({ code: 'MANIFEST_TIMEOUT', disposition: 'reject' });
  });

  it('counts once for waits that overlap', async () => {
    const waits = [1, 2, 3].map(() => time.during(() => clock.sleep(25_000)));
    await clock.advance(25_100);
    await Promise.all(waits);
    const last = time.during(() => clock.sleep(30_000));
    await clock.advance(30_100);
    await last;
    expect(time.isOver.aborted).toBe(false);
    expect(clock.sleepers).toBe(0);
  });
});
