import { beforeEach, describe, expect, it } from '@jest/globals';
import { TOKEN } from '../../../support/builders.js';
import { anIntake } from '../../../support/intake.js';
import { settled } from '../../../support/fake-clock.js';

let i: ReturnType<typeof anIntake>;
const running = new AbortController().signal;
beforeEach(() => {
  i = anIntake();
});

const MESSAGE = { body: '{"jobId":7}', reasons: ['jobId must be text', 'userId is missing'], by: 'message' as const, receiveCount: 1 };

describe('RejectMessageUseCase', () => {
  it('A copy only where nobody hears: fails the token at once with the reasons, which is a warning and leaves no dead letter', async () => {
    await i.rejectMessage.reject({ ...MESSAGE, jobId: 'job-1', taskToken: TOKEN }, running);
    const [answer] = i.stepFunctions.answers;
    expect(answer).toMatchObject({ taskToken: TOKEN, kind: 'failure', error: 'InvalidExportRequest' });
    expect(JSON.parse(answer?.cause ?? '')).toEqual({ jobId: 'job-1', message: 'jobId must be text; userId is missing', failures: [] });
    expect(i.deadLetters.copies).toEqual([]);
    expect(i.logger.events).toEqual([
      { level: 'warn', message: 'Job message cannot be used', fields: { jobId: 'job-1', by: 'message', reasons: MESSAGE.reasons } },
    ]);
  });

  it('copies a message whose token cannot be read, for a person, with the reasons', async () => {
    await i.rejectMessage.reject(MESSAGE, running);
    expect(i.stepFunctions.answers).toEqual([]);
    expect(i.deadLetters.copies).toEqual([{ body: MESSAGE.body, reason: 'jobId must be text; userId is missing' }]);
  });

  it('copies a message whose token is gone', async () => {
    i.stepFunctions.close(TOKEN);
    await i.rejectMessage.reject({ ...MESSAGE, taskToken: TOKEN }, running);
    expect(i.deadLetters.copies).toHaveLength(1);
  });

  it('counts what it refuses, by what refuses it: settings of the service are the business of whoever runs it', async () => {
    await i.rejectMessage.reject({ ...MESSAGE, taskToken: TOKEN, by: 'settings' }, running);
    expect(i.metrics.increments).toContainEqual({ name: 'messages_refused_total', labels: { by: 'settings' }, value: 1 });
  });

  it('copies no message that comes again when its token was answered', async () => {
    await i.rejectMessage.reject({ ...MESSAGE, taskToken: TOKEN }, running);
    await i.rejectMessage.reject({ ...MESSAGE, taskToken: TOKEN, receiveCount: 2 }, running);
    expect([i.stepFunctions.answers.length, i.deadLetters.copies, i.logger.messages('error')]).toEqual([1, [], []]);
  });

  it.each([
    ['no token', 'none' as const, 1],
    ['a token that is gone', 'gone' as const, 1],
    ['a token that another finisher still answers', undefined, 0],
    ['an answer', 'failure' as const, 0],
    ['an answer whose reply was lost', 'unknown' as const, 0],
  ])('for a job that ended with %s keeps so many copies', async (_, callback, copies) => {
    await i.rejectMessage.copyUnlessAnswered(MESSAGE, callback);
    expect(i.deadLetters.copies).toHaveLength(copies);
  });

  it('leaves the message when a shutdown comes before the token is answered', async () => {
    const stopping = new AbortController();
    i.stepFunctions.answerNext({ kind: 'unavailable', reason: 'Throttling', maybeApplied: false });
    const rejected = i.rejectMessage.reject({ ...MESSAGE, taskToken: TOKEN }, stopping.signal);
    await settled();
    stopping.abort();
    await expect(rejected).rejects.toMatchObject({ disposition: 'yield' });
    expect(i.deadLetters.copies).toEqual([]);
  });

  it('says that there is a copy once there is one', async () => {
    const told = () => i.logger.messages('error').filter((message) => message.includes('dead-letter queue'));
    i.deadLetters.refuses = true;
    await expect(i.rejectMessage.reject(MESSAGE, running)).rejects.toThrow('the queue takes nothing');
    expect(told()).toEqual([]);
    i.deadLetters.refuses = false;
    await i.rejectMessage.reject(MESSAGE, running);
    expect(told()).toEqual(['Nobody could be answered: a copy of the job message is on the dead-letter queue']);
  });

  it('logs the reasons, and neither the body nor the token', async () => {
    await i.rejectMessage.reject({ ...MESSAGE, body: 'secret body', taskToken: TOKEN }, running);
    expect(i.logger.messages('warn')).toHaveLength(1);
    expect(JSON.stringify(i.logger.events)).not.toMatch(/secret body|token-of/);
  });
});
