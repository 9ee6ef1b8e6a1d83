import { describe, expect, it } from '@jest/globals';
import { AppError, maskToken, maskUrl, retryMessage, toLoggable, withoutSecrets } from '../../../src/shared/index.js';

const TOKEN = `AAAAKg${'x'.repeat(200)}WXYZ`;

describe('AppError', () => {
  it('carries a code, a disposition and its cause', () => {
    const cause = new Error('below');
    const error = new AppError('NO_QUEUE', 'The queue is away', { disposition: 'retry', cause });
    expect(error).toMatchObject({ name: 'AppError', code: 'NO_QUEUE', disposition: 'retry', message: 'The queue is away', cause });
  });
});

describe('what may be logged of an error', () => {
  it('is its name, code and message, never what an SDK hangs on it', () => {
    const error = Object.assign(new Error('refused'), {
      name: 'SdkError',
      code: 'ECONNREFUSED',
      $response: { headers: { authorization: TOKEN } },
    });
    expect(toLoggable(error)).toEqual({ name: 'SdkError', message: 'refused', code: 'ECONNREFUSED' });
  });

  it('is the code of a connection that Node calls just an Error, and the service that it led to', () => {
    const refused = { code: 'ECONNREFUSED', awsService: 'DynamoDB' };
    const error = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:9'), refused);
    const logged = { name: 'ECONNREFUSED', code: 'ECONNREFUSED', service: 'DynamoDB', message: 'connect ECONNREFUSED 127.0.0.1:9' };
    expect(toLoggable(error)).toEqual(logged);
    expect(toLoggable(Object.assign(new AggregateError([error, error]), refused))).toEqual(logged);
  });

  it('names the call of AWS that is behind an error of ours', () => {
    const call = { awsService: 'DynamoDB', awsOperation: 'UpdateItem', awsResource: 'export-batches' };
    const refused = Object.assign(new Error('try later'), { name: 'InternalServerError', ...call });
    const cause = new AppError('TABLE_UNAVAILABLE', 'away', { disposition: 'retry', cause: refused });
    const error = new AppError('NOT_COUNTED', 'The end is not counted', { disposition: 'retry', cause });
    expect(toLoggable(error)).toEqual({
      name: 'AppError',
      code: 'NOT_COUNTED',
      message: 'The end is not counted',
      service: 'DynamoDB',
      operation: 'UpdateItem',
      resource: 'export-batches',
    });
    expect(retryMessage('a step', error)).toBe('DynamoDB UpdateItem on export-batches failed (InternalServerError); retrying');
  });

  it('of a call that is none of AWS names what it was for', () => {
    expect(retryMessage('a step', new AppError('OTHER', 'text', { disposition: 'retry' }))).toBe('a step failed (OTHER); retrying');
    expect(retryMessage('a step', 'text')).toBe('a step failed (NonError); retrying');
  });

  it('has no token and no query', () => {
    const { message } = toLoggable(new Error(`token ${TOKEN} for https://origin.test/a/b?signature=secret#x failed`));
    expect(message).toBe('token AAAAKg…WXYZ for https://origin.test/a/b failed');
  });

  it('is short', () => {
    expect(toLoggable(new Error('word '.repeat(1_000))).message).toHaveLength(500);
  });

  it('is next to nothing for something that is no error', () => {
    expect(toLoggable(TOKEN)).toEqual({ name: 'NonError', message: 'string' });
  });
});

describe('masking', () => {
  it('shows the first 6 and the last 4 characters of a token, and nothing of a short one', () => {
    expect(maskToken(TOKEN)).toBe('AAAAKg…WXYZ');
    expect(maskToken('1234567890')).toBe('…');
  });

  it('shows a URL without userinfo, query and fragment', () => {
    expect(maskUrl('https://user:password@origin.test:8443/a%20b?signature=secret#part')).toBe('https://origin.test:8443/a%20b');
    expect(maskUrl('s3://bucket/key')).toBe('s3://bucket/key');
    expect(maskUrl('not a URL ?secret')).toBe('(invalid URL)');
  });

  it('leaves plain words and numbers in a text alone', () => {
    expect(withoutSecrets('Job abc-123 failed after 5 receives')).toBe('Job abc-123 failed after 5 receives');
  });
});
