import { expect, it } from '@jest/globals';
import { decideHandOn } from '../../../../src/intake/domain/decide-hand-on.js';

it.each([
  ['goes to another coordinator', { hasOthers: true, handOns: 0, place: 1 }, { kind: 'hand-on', delayS: 0 }],
  ['goes on looking for room', { hasOthers: true, handOns: 9, place: 900 }, { kind: 'hand-on', delayS: 0 }],
  ['waits once it has looked everywhere', { hasOthers: true, handOns: 10, place: 500 }, { kind: 'wait' }],
  ['waits where there is nobody else', { hasOthers: false, handOns: 0, place: 500 }, { kind: 'wait' }],
  ['is postponed behind too many', { hasOthers: false, handOns: 0, place: 501 }, { kind: 'postpone', delayS: 30 }],
  [
    'is postponed behind too many, when others have no room either',
    { hasOthers: true, handOns: 10, place: 501 },
    { kind: 'postpone', delayS: 30 },
  ],
])('A job whose list cannot be opened %s', (_what, job, decision) => {
  expect(decideHandOn(job)).toEqual(decision);
});
