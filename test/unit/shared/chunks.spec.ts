import { expect, it } from '@jest/globals';
import { chunksOf } from '../../../src/shared/index.js';

it.each([
  ['nothing', 0, []],
  ['less than one', 2, [[0, 1]]],
  ['one to the brim', 3, [[0, 1, 2]]],
  ['a last one that is shorter', 7, [[0, 1, 2], [3, 4, 5], [6]]],
])('cuts %s into chunks in order', (_what, count, chunks) => {
  expect(
    chunksOf(
      Array.from({ length: count }, (_, index) => index),
      3,
    ),
  ).toEqual(chunks);
});
