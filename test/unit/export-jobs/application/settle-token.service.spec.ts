import { expect, it } from '@jest/globals';
import { SettleTokenService, type Answer } from '../../../../src/export-jobs/application/settle-token.service.js';
import type { TokenAnswer } from '../../../../src/export-jobs/application/step-functions.port.js';
import { TOKEN } from '../../../support/builders.js';
import { FakeStepFunctions } from '../../../support/fakes/fake-step-functions.js';
import { RecordingLogger } from '../../../support/fakes/recording-logger.js';
import { RecordingMetrics } from '../../../support/fakes/recording-metrics.js';
import { newClock, onEachClock } from '../../../support/each-clock.js';
import { settled } from '../../../support/fake-clock.js';

const SUCCESS: Answer = { kind: 'success', output: '{}' };
const FAILURE: Answer = { kind: 'failure', error: 'JobStalled', cause: '{}' };
const THROTTLED: TokenAnswer = { kind: 'unavailable', reason: 'ThrottlingException', maybeApplied: false };
const FORBIDDEN: TokenAnswer = { kind: 'not-allowed', reason: 'AccessDeniedException', detail: 'role x is not authorized' };
const NO_KEY: TokenAnswer = { kind: 'key-unusable', reason: 'KmsAccessDeniedException' };

function setUp() {
  const clock = newClock();
  const logger = new RecordingLogger();
  const stepFunctions = new FakeStepFunctions();
  const metrics = new RecordingMetrics();
  const service = new SettleTokenService(stepFunctions, clock, logger, metrics);
  const abort = new AbortController();
  const settle = async (answer: Answer) => {
    const callback = service.settle('job-1', TOKEN, answer, abort.signal);
    await clock.advance(120_000);
    return callback;
  };
  return { clock, logger, metrics, stepFunctions, service, abort, settle };
}

onEachClock('SettleTokenService', () => {
  it.each([SUCCESS, FAILURE])('gives the answer once and says which: $kind', async (answer) => {
    const { stepFunctions, settle } = setUp();
    await expect(settle(answer)).resolves.toBe(answer.kind);
    expect(stepFunctions.answers).toEqual([{ taskToken: TOKEN, ...answer }]);
  });

  it('tries again for as long as Step Functions is unavailable', async () => {
    const { logger, stepFunctions, settle } = setUp();
    stepFunctions.answerNext(...Array.from({ length: 8 }, () => THROTTLED));
    await expect(settle(SUCCESS)).resolves.toBe('success');
    expect(stepFunctions.answers).toHaveLength(1);
    expect(logger.messages('warn')).toHaveLength(8);
  });

  it('waits between two tries, at first less than half a second', async () => {
    const { clock, stepFunctions, service, abort } = setUp();
    stepFunctions.answerNext(THROTTLED);
    const callback = service.settle('job-1', TOKEN, SUCCESS, abort.signal);
    await settled();
    expect(stepFunctions.gate.calls).toHaveLength(1);
    expect(clock.nextWakeInMs).toBeGreaterThanOrEqual(100);
    await clock.advance(500);
    await expect(callback).resolves.toBe('success');
  });

  it.each([
    ['gone', { kind: 'gone', code: 'TaskTimedOut' }],
    ['invalid', { kind: 'invalid-token' }],
  ] as [string, TokenAnswer][])('never retries a token that is %s, and never turns it into the other answer', async (_name, answer) => {
    const { stepFunctions, settle } = setUp();
    stepFunctions.answerNext(answer);
    await expect(settle(SUCCESS)).resolves.toBe('gone');
    expect(stepFunctions.gate.calls).toEqual(['answerToken']);
    expect(stepFunctions.answers).toEqual([]);
  });

  it('does not know who answered when its own reply was lost before the token was gone', async () => {
    const { stepFunctions, settle } = setUp();
    stepFunctions.loseNextReplies();
    await expect(settle(FAILURE)).resolves.toBe('unknown');
    expect(stepFunctions.answers).toHaveLength(1);
  });

  it('knows that a throttled call was not applied', async () => {
    const { stepFunctions, settle } = setUp();
    stepFunctions.answerNext(THROTTLED);
    stepFunctions.close(TOKEN);
    await expect(settle(SUCCESS)).resolves.toBe('gone');
  });

  it('says at error level which permission is missing, and gives the answer once it is there', async () => {
    const { logger, stepFunctions, settle } = setUp();
    stepFunctions.answerNext(FORBIDDEN, FORBIDDEN);
    await expect(settle(SUCCESS)).resolves.toBe('success');
    expect(logger.messages('warn')).toEqual([]);
    expect(logger.events).toHaveLength(2);
    expect(logger.events[0]).toMatchObject({
      level: 'error',
      message: expect.stringMatching(/states:SendTaskSuccess.*states:SendTaskFailure.*on resource "\*"/) as unknown,
      fields: { jobId: 'job-1', reason: 'AccessDeniedException', detail: 'role x is not authorized' },
    });
  });

  it('knows that a forbidden call was not applied', async () => {
    const { stepFunctions, settle } = setUp();
    stepFunctions.answerNext(FORBIDDEN);
    stepFunctions.close(TOKEN);
    await expect(settle(SUCCESS)).resolves.toBe('gone');
  });

  it('counts what was not taken, by its reason', async () => {
    const { metrics, stepFunctions, settle } = setUp();
    stepFunctions.answerNext(FORBIDDEN, THROTTLED, NO_KEY, NO_KEY);
    await settle(SUCCESS);
    expect(metrics.increments.map(({ name, labels }) => [name, labels.reason])).toEqual(
      ['not-allowed', 'unavailable', 'key-unusable', 'key-unusable'].map((reason) => ['settle_failure_total', reason]),
    );
  });

  it('keeps the answer while the key of the state machine is unusable for a while', async () => {
    const { logger, stepFunctions, settle } = setUp();
    stepFunctions.answerNext(NO_KEY, NO_KEY, NO_KEY, NO_KEY);
    await expect(settle(SUCCESS)).resolves.toBe('success');
    expect(stepFunctions.answers).toEqual([{ taskToken: TOKEN, ...SUCCESS }]);
    expect(logger.messages('error')).toHaveLength(4);
  });

  it.each([SUCCESS, FAILURE])(
    'fails with neither error nor cause as the last resort, when the key stays unusable for hours: $kind',
    async (answer) => {
      const { clock, stepFunctions, service, abort } = setUp();
      stepFunctions.keyUnusable = true;
      const callback = service.settle('job-1', TOKEN, answer, abort.signal);
      await clock.advance(4 * 3_600_000);
      expect(stepFunctions.answers).toEqual([]);
      await clock.advance(60_000);
      await expect(callback).resolves.toBe('failure');
      expect(stepFunctions.answers).toEqual([{ taskToken: TOKEN, kind: 'failure' }]);
    },
  );

  it.each([SUCCESS, FAILURE])('gives the barest of the same answer when its form is refused: $kind', async (answer) => {
    const { stepFunctions, settle } = setUp();
    stepFunctions.answerNext({ kind: 'answer-unusable', reason: 'InvalidOutput' });
    await expect(settle(answer)).resolves.toBe(answer.kind);
    expect(stepFunctions.answers).toMatchObject([
      { kind: answer.kind, [answer.kind === 'success' ? 'output' : 'cause']: '{"jobId":"job-1"}' },
    ]);
  });

  it('gives no answer when it is aborted in a wait, and leaves nothing running', async () => {
    const { clock, stepFunctions, service, abort } = setUp();
    stepFunctions.answerNext(THROTTLED);
    const callback = service.settle('job-1', TOKEN, SUCCESS, abort.signal);
    await settled();
    abort.abort();
    await expect(callback).resolves.toBeUndefined();
    expect(stepFunctions.answers).toEqual([]);
    expect(clock.sleepers).toBe(0);
  });

  it('never logs the token', async () => {
    const { logger, stepFunctions, settle } = setUp();
    stepFunctions.answerNext(THROTTLED, NO_KEY);
    await settle(FAILURE);
    expect(JSON.stringify(logger.events)).not.toContain(TOKEN);
  });
});
