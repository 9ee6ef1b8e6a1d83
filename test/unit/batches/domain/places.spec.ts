import { describe, expect, it } from '@jest/globals';
import { mayStart, type PlaceUse } from '../../../../src/batches/domain/places.js';

const use = (reading = 0, sending = 0, silent = 0): PlaceUse => ({ reading, sending, silent });
const NOTHING = use();

describe('a task may start', () => {
  it.each([
    { when: 'a place is free', job: use(3), all: use(31), jobs: 2, may: true },
    { when: 'all places are taken and the job has its share', job: use(32), all: use(32), jobs: 1, may: false },
    { when: 'another job holds every place', job: NOTHING, all: use(32), jobs: 2, may: true },
    { when: 'the job has less than its share, and others have more', job: use(15), all: use(47), jobs: 2, may: true },
    { when: 'the job has its share beyond the places', job: use(16), all: use(48), jobs: 2, may: false },
    { when: 'as many files are on their way to S3 as there are places', job: use(0, 64), all: use(0, 64), jobs: 1, may: false },
    { when: 'other jobs have all those on their way to S3', job: NOTHING, all: use(0, 64), jobs: 2, may: true },
    { when: 'silent tasks are all that the job has', job: use(0, 0, 100), all: use(0, 0, 100), jobs: 1, may: true },
    { when: 'the job has as many silent tasks as its share allows', job: use(0, 0, 64), all: use(0, 0, 64), jobs: 2, may: false },
    { when: 'there are many more jobs than places and this one has nothing', job: NOTHING, all: use(90), jobs: 91, may: true },
    { when: 'there are many more jobs than places and this one has a task', job: use(1), all: use(90), jobs: 90, may: false },
    { when: 'very many tasks run, and this job has its share', job: use(8), all: use(8, 0, 256), jobs: 4, may: false },
    { when: 'very many tasks run, and this job has less than its share', job: use(7), all: use(7, 0, 256), jobs: 4, may: true },
  ])('$may when $when', ({ job, all, jobs, may }) =>
    expect(mayStart(job, all, { places: 32, busyPerPlace: 2 }, { busy: jobs, running: jobs })).toBe(may),
  );

  it('not when jobs that are all silent have as many silent tasks as their shares allow, beside one that is busy', () => {
    expect(mayStart(use(0, 0, 25), use(8, 0, 100), { places: 32, busyPerPlace: 2 }, { busy: 2, running: 5 })).toBe(false);
  });

  it('never where there are no places', () =>
    expect(mayStart(NOTHING, NOTHING, { places: 0, busyPerPlace: 2 }, { busy: 1, running: 1 })).toBe(false));
});
