import { describe, expect, it } from '@jest/globals';
import { decideAccept, type AcceptDecision } from '../../../../src/intake/domain/decide-accept.js';
import { batchSizeFor } from '../../../../src/intake/domain/export-request.js';
import { aJob, TOKEN, withoutToken } from '../../../support/builders.js';

const SAME = { taskToken: TOKEN, requestHash: 'hash-1' };
const NEW_TOKEN = { ...SAME, taskToken: 'another token' };
const NO_TOKEN = { requestHash: 'hash-1' };
const OTHER_REQUEST = { ...SAME, requestHash: 'hash-2' };

type Status = ReturnType<typeof aJob>['status'];

describe('decideAccept', () => {
  it.each<[string, Status, { taskToken?: string; requestHash: string }, AcceptDecision['kind']]>([
    ['Same token in PROCESSING: always continue', 'PROCESSING', SAME, 'expand'],
    ['acknowledges a redelivery while it downloads', 'DOWNLOADING', SAME, 'acknowledge'],
    ['acknowledges a redelivery while it is answered', 'FINALIZING', SAME, 'acknowledge'],
    ['proves a redelivered token of a job that completed', 'COMPLETED', SAME, 'prove-token'],
    ['proves a redelivered token of a job that failed', 'FAILED', SAME, 'prove-token'],
    ['Another token counts only after an accepted beat: in PROCESSING', 'PROCESSING', NEW_TOKEN, 'prove-token'],
    ['Another token counts only after an accepted beat: in DOWNLOADING', 'DOWNLOADING', NEW_TOKEN, 'prove-token'],
    ['Another token counts only after an accepted beat: in FINALIZING', 'FINALIZING', NEW_TOKEN, 'prove-token'],
    ['Another token counts only after an accepted beat: after the end', 'CANCELLED', NEW_TOKEN, 'prove-token'],
    ['goes on with the expansion for a message without a token', 'PROCESSING', NO_TOKEN, 'expand'],
    ['acknowledges a message without a token while it downloads', 'DOWNLOADING', NO_TOKEN, 'acknowledge'],
    ['acknowledges a message without a token after the end', 'FAILED', NO_TOKEN, 'acknowledge'],
    ['refuses another request under the same jobId', 'PROCESSING', OTHER_REQUEST, 'conflict'],
    ['refuses another request also after the end', 'COMPLETED', OTHER_REQUEST, 'conflict'],
    ['refuses another request with another token', 'DOWNLOADING', { ...NEW_TOKEN, requestHash: 'hash-2' }, 'conflict'],
  ])('%s', (_name, status, request, kind) => {
    const ended = status === 'COMPLETED' || status === 'FAILED' || status === 'CANCELLED';
    expect(decideAccept(ended ? withoutToken(aJob({ status })) : aJob({ status }), request)).toEqual({ kind });
  });

  it('proves a first token for a job that was sent without one', () => {
    expect(decideAccept(withoutToken(aJob()), SAME)).toEqual({ kind: 'prove-token' });
  });
});

describe('batchSizeFor', () => {
  it.each([
    [0, 100, 100],
    [99, 100, 100],
    [100_000, 100, 100],
    [100_001, 100, 101],
    [10_000_000, 100, 10_000],
    [10, 1, 1],
  ])('%i tasks with a smallest batch of %i make batches of %i', (totalTasks, smallest, size) => {
    expect(batchSizeFor(totalTasks, smallest)).toBe(size);
    expect(Math.ceil(totalTasks / size)).toBeLessThanOrEqual(1_000);
  });
});
