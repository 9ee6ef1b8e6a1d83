import { describe, expect, it } from '@jest/globals';
import { classifyTokenError } from '../../../../src/export-jobs/adapters/sdk-step-functions.adapter.js';
import type { TokenAnswer } from '../../../../src/export-jobs/application/step-functions.port.js';

const named = (name: string, message = '') => Object.assign(new Error(message), { name });

describe('an error of a call with a task token', () => {
  it.each<[string, TokenAnswer]>([
    ['TaskTimedOut', { kind: 'gone', code: 'TaskTimedOut' }],
    ['TaskDoesNotExist', { kind: 'gone', code: 'TaskDoesNotExist' }],
    ['InvalidToken', { kind: 'invalid-token' }],
    ['InvalidOutput', { kind: 'answer-unusable', reason: 'InvalidOutput' }],
    ['KmsAccessDeniedException', { kind: 'key-unusable', reason: 'KmsAccessDeniedException' }],
    ['KmsThrottlingException', { kind: 'unavailable', reason: 'KmsThrottlingException', maybeApplied: false }],
    ['ThrottlingException', { kind: 'unavailable', reason: 'ThrottlingException', maybeApplied: false }],
    ['ExpiredTokenException', { kind: 'unavailable', reason: 'ExpiredTokenException', maybeApplied: false }],
    ['TimeoutError', { kind: 'unavailable', reason: 'TimeoutError', maybeApplied: true }],
  ])('%s', (name, answer) => {
    expect(classifyTokenError(named(name))).toEqual(answer);
  });

  it('of a refused connection is its code: nothing was applied', () => {
    const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
    expect(classifyTokenError(refused)).toEqual({ kind: 'unavailable', reason: 'ECONNREFUSED', maybeApplied: false });
  });

  it('that forbids the call says what AWS says of it, without secrets', () => {
    const token = 'AAAAKgAAAAIAAAAA'.repeat(8);
    const denied = named(
      'AccessDeniedException',
      `arn:aws:sts::1:role/x is not authorized to perform: states:SendTaskSuccess with ${token}`,
    );
    const answer = classifyTokenError(denied);
    expect(answer).toMatchObject({ kind: 'not-allowed', reason: 'AccessDeniedException' });
    expect(JSON.stringify(answer)).toContain('states:SendTaskSuccess');
    expect(JSON.stringify(answer)).not.toContain(token);
  });
});
