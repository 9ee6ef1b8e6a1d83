import { beforeEach, describe, expect, it } from '@jest/globals';
import { TOKEN } from '../../../support/builders.js';
import { anIntake } from '../../../support/intake.js';
import { settled } from '../../../support/fake-clock.js';

let i: ReturnType<typeof anIntake>;
const running = new AbortController().signal;
beforeEach(() => {
  i = anIntake();
});

const MESSAGE = { body: '{"jobId":7}', reasons: ['jobId must be text', 'userId is missing'] };

describe('RejectMessageUseCase', () => {
  it('fails the token at once with the reasons, and copies the message for a person', async () => {
    await i.rejectMessage.reject({ ...MESSAGE, jobId: 'job-1', taskToken: TOKEN }, running);
    const [answer] = i.stepFunctions.answers;
    expect(answer).toMatchObject({ taskToken: TOKEN, kind: 'failure', error: 'InvalidExportRequest' });
    expect(JSON.parse(answer?.cause ?? '')).toEqual({ jobId: 'job-1', message: 'jobId must be text; userId is missing', failures: [] });
    expect(i.deadLetters.copies).toEqual([{ body: MESSAGE.body, reason: 'jobId must be text; userId is missing' }]);
  });

  it('copies a message whose token cannot be read', async () => {
    await i.rejectMessage.reject(MESSAGE, running);
    expect(i.stepFunctions.answers).toEqual([]);
    expect(i.deadLetters.copies).toHaveLength(1);
  });

  it('copies a message whose token is gone', async () => {
    i.stepFunctions.close(TOKEN);
    await i.rejectMessage.reject({ ...MESSAGE, taskToken: TOKEN }, running);
    expect(i.deadLetters.copies).toHaveLength(1);
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
    const told = () => i.logger.messages('info').filter((message) => message.includes('dead-letter queue'));
    i.deadLetters.refuses = true;
    await expect(i.rejectMessage.reject(MESSAGE, running)).rejects.toThrow('the queue takes nothing');
    expect(told()).toEqual([]);
    expect(i.logger.messages('error')).toEqual(['Job message cannot be used']);
    i.deadLetters.refuses = false;
    await i.rejectMessage.reject(MESSAGE, running);
    expect(told()).toEqual(['A copy of the job message is on the dead-letter queue']);
  });

  it('logs the reasons, and neither the body nor the token', async () => {
    await i.rejectMessage.reject({ ...MESSAGE, body: 'secret body', taskToken: TOKEN }, running);
    expect(i.logger.messages('error')).toHaveLength(1);
    expect(JSON.stringify(i.logger.events)).not.toMatch(/secret body|token-of/);
  });
});
