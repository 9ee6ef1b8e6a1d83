import { describe, expect, it } from '@jest/globals';
import { isInUse, isLive, isWorking, seeCoordinator, type Look, type Sighting } from '../../../../src/fleet/domain/liveness.js';
import { aCoordinator, START_ISO } from '../../../support/builders.js';

const INTERVAL_MS = 10_000;
const LIVE_MS = 30_000;
const WALL_MS = Date.parse(START_ISO);
const iso = (ms: number) => new Date(WALL_MS + ms).toISOString();

const aLook = (over: Partial<Look> = {}): Look => ({ at: 1_000_000, formerAt: 990_000, nowMs: WALL_MS, ...over });
const aSighting = (over: Partial<Sighting> = {}): Sighting => ({
  epoch: 1,
  sequence: 1,
  leaving: false,
  starting: false,
  workLoopAt: undefined,
  aliveAt: 1_000,
  workedAt: undefined,
  ...over,
});
const see = (before: Sighting | undefined, row = aCoordinator(), look = aLook()) => seeCoordinator(before, row, look, INTERVAL_MS);

describe('a row seen for the first time', () => {
  it.each([
    ['was written now', 0, 1_000_000],
    ['was written a while ago, and counts from then', -12_000, 988_000],
    ['was written three intervals ago', -LIVE_MS, 970_000],
    ['is older', -LIVE_MS - 1, undefined],
    ['comes from a clock that is a little ahead, and counts from now', 12_000, 1_000_000],
    ['comes from a clock that is three intervals ahead', LIVE_MS, 1_000_000],
    ['comes from a clock that is further ahead', LIVE_MS + 1, undefined],
    ['has no readable time', Number.NaN, undefined],
  ])('%s', (_what, writtenMs, aliveAt) => {
    const heartbeatAt = Number.isNaN(writtenMs) ? 'noon' : iso(writtenMs);
    expect(see(undefined, aCoordinator({ heartbeatAt })).aliveAt).toBe(aliveAt);
  });

  it.each([
    ['works when its own clock says so, whatever that clock shows', -5_000, 995_000],
    ['may have stamped its work after its heartbeat', 5_000, 995_000],
    ['works up to twelve intervals after its last sign', -120_000, 880_000],
    ['does not work after that', -120_001, undefined],
  ])('%s', (_what, workMs, workedAt) => {
    const hours = 7_200_000;
    const row = aCoordinator({ heartbeatAt: iso(hours), workLoopAt: iso(hours + workMs) });
    expect(see(undefined, row)).toMatchObject({ aliveAt: undefined, workedAt });
  });

  it('that has never worked does not', () => {
    expect(see(undefined).workedAt).toBeUndefined();
  });
});

describe('Live within three intervals on my own clock: a row seen again', () => {
  it.each([
    ['moved: its heartbeat is no older than the former look', { sequence: 2 }, 990_000],
    ['moved by many heartbeats', { sequence: 20 }, 990_000],
    ['was restarted', { epoch: 2, sequence: 0 }, 990_000],
    ['was removed and registered again in between', { epoch: 1, sequence: 0 }, 990_000],
    ['did not move', {}, 1_000],
    ['did not move, whatever its time says', { heartbeatAt: iso(0) }, 1_000],
    ['moved on a clock that is hours off', { sequence: 2, heartbeatAt: iso(-7_200_000) }, 990_000],
  ])('%s', (_what, over, aliveAt) => {
    expect(see(aSighting(), aCoordinator(over)).aliveAt).toBe(aliveAt);
  });

  it('counts once it moves when nothing spoke for it before', () => {
    expect(see(aSighting({ aliveAt: undefined }), aCoordinator()).aliveAt).toBeUndefined();
    expect(see(aSighting({ aliveAt: undefined }), aCoordinator({ sequence: 2 })).aliveAt).toBe(990_000);
  });

  it.each([
    ['worked when its stamp moved, as this process saw it', iso(1), 1_000_000],
    ['did not work when its stamp stood still', iso(0), 500],
    ['lost its stamp with a restart', undefined, 500],
  ])('%s', (_what, workLoopAt, workedAt) => {
    const before = aSighting({ workLoopAt: iso(0), workedAt: 500 });
    const row = aCoordinator({ sequence: 2, ...(workLoopAt === undefined ? {} : { workLoopAt }) });
    expect(see(before, row).workedAt).toBe(workedAt);
  });
});

it('a coordinator that moved while this process could not read the registry is no less live for it', () => {
  const look = aLook({ at: 1_000_000, formerAt: 900_000 });
  expect(see(aSighting({ sequence: 1 }), aCoordinator({ sequence: 9 }), look).aliveAt).toBe(985_000);
});

describe('a coordinator', () => {
  it.each([
    [
      'Live within three intervals on my own clock: is live up to three intervals after its last heartbeat',
      aSighting({ aliveAt: 0 }),
      LIVE_MS,
      true,
      true,
    ],
    [
      'Live within three intervals on my own clock: is not live after that, and keeps its id',
      aSighting({ aliveAt: 0 }),
      LIVE_MS + 1,
      false,
      true,
    ],
    ['keeps its id up to twelve intervals after its last heartbeat', aSighting({ aliveAt: 0 }), 120_000, false, true],
    ['does not keep it after that', aSighting({ aliveAt: 0 }), 120_001, false, false],
    ['is not live when nothing says so', aSighting({ aliveAt: undefined }), 0, false, false],
    ['one that is still starting looks after nothing, and keeps its id', aSighting({ aliveAt: 0, starting: true }), 0, false, true],
    ['LEAVING is not live: one that leaves keeps its id', aSighting({ aliveAt: 0, leaving: true }), 0, false, true],
  ])('%s', (_what, sighting, now, live, inUse) => {
    expect([isLive(sighting, now, INTERVAL_MS), isInUse(sighting, now, INTERVAL_MS)]).toEqual([live, inUse]);
  });

  it.each([
    ['works up to twelve intervals after its last sign of work', 0, 120_000, INTERVAL_MS, true],
    ['does not work after that', 0, 120_001, INTERVAL_MS, false],
    ['that has never worked does not', undefined, 0, INTERVAL_MS, false],
    ['with a very short interval still has the time of three long polls', 0, 60_000, 200, true],
    ['with a very short interval does not work after that', 0, 60_001, 200, false],
  ])('%s', (_what, workedAt, now, intervalMs, works) => {
    expect(isWorking(workedAt, now, intervalMs)).toBe(works);
  });
});
