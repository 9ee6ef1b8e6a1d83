import { expect, it } from '@jest/globals';
import { localFenceAt } from '../../../../src/batches/domain/local-fence.js';

it.each([
  [0, 60_000],
  [30_000, 90_000],
])('the local fence of a lease renewed at %i ms with a TTL of 90 s stands at %i ms: two thirds of it later', (renewedSince, at) => {
  expect(localFenceAt(renewedSince, 90_000)).toBeCloseTo(at, 6);
});
