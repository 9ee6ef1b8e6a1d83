import { expect, it } from '@jest/globals';
import { resolveMaxReceiveCount } from '../../../../src/platform/sqs/index.js';
import { parseMaxReceiveCount } from '../../../../src/platform/sqs/max-receive-count.js';
import { RecordingLogger } from '../../../support/fakes/recording-logger.js';

it.each([
  ['{"deadLetterTargetArn":"arn","maxReceiveCount":3}', 3],
  ['{"deadLetterTargetArn":"arn","maxReceiveCount":"3"}', 3],
  ['{"deadLetterTargetArn":"arn"}', undefined],
  ['no JSON', undefined],
  ['null', undefined],
  [undefined, undefined],
])('the redrive policy %s allows %s receives', (policy, count) => {
  expect(parseMaxReceiveCount(policy)).toBe(count);
});

it('maxReceiveCount is the queue’s own', async () => {
  const logger = new RecordingLogger();
  expect(await resolveMaxReceiveCount({ attributes: async () => ({ maxReceiveCount: 3 }) }, 'Jobs queue', 5, logger)).toBe(3);
  expect(logger.messages('warn')).toEqual([]);
});

it('maxReceiveCount is assumed, with a warning, where the queue has no redrive policy or does not tell', async () => {
  const logger = new RecordingLogger();
  expect(await resolveMaxReceiveCount({ attributes: async () => ({}) }, 'Jobs queue', 5, logger)).toBe(5);
  expect(await resolveMaxReceiveCount({ attributes: () => Promise.reject(new Error('away')) }, 'Jobs queue', 5, logger)).toBe(5);
  expect(logger.messages('warn')).toEqual([
    'Jobs queue has no redrive policy: what nobody can use is received again until it is too old',
    'Jobs queue: its redrive policy cannot be read; a maxReceiveCount of 5 is assumed',
  ]);
});
