import { DynamoDBServiceException } from '@aws-sdk/client-dynamodb';
import { describe, expect, it } from '@jest/globals';
import { toDynamoDbError } from '../../../src/platform/dynamodb/index.js';

const answered = (httpStatusCode: number, name: string) =>
  new DynamoDBServiceException({ name, message: 'why', $fault: httpStatusCode < 500 ? 'client' : 'server', $metadata: { httpStatusCode } });
const named = (name: string) => Object.assign(new Error('why'), { name });

describe('an error of DynamoDB', () => {
  it.each([
    ['TABLE_UNAVAILABLE', 'retry', answered(400, 'ProvisionedThroughputExceededException')],
    ['TABLE_UNAVAILABLE', 'retry', answered(400, 'ThrottlingException')],
    ['TABLE_UNAVAILABLE', 'retry', answered(400, 'RequestLimitExceeded')],
    ['TABLE_UNAVAILABLE', 'retry', answered(400, 'ExpiredTokenException')],
    ['TABLE_UNAVAILABLE', 'retry', answered(500, 'InternalServerError')],
    ['TABLE_UNAVAILABLE', 'retry', answered(503, 'ServiceUnavailable')],
    ['TABLE_UNAVAILABLE', 'retry', named('TimeoutError')],
    ['TABLE_UNAVAILABLE', 'retry', Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })],
    ['TABLE_UNUSABLE', 'fatal', answered(400, 'ResourceNotFoundException')],
    ['TABLE_UNUSABLE', 'fatal', answered(400, 'AccessDeniedException')],
    ['TABLE_REFUSED', 'fatal', answered(400, 'UnrecognizedClientException')],
    ['TABLE_REFUSED', 'fatal', answered(400, 'ValidationException')],
    ['TABLE_REFUSED', 'fatal', named('CredentialsProviderError')],
  ])('is %s (%s) when it is %s', (code, disposition, cause) => {
    expect(toDynamoDbError('PutItem', cause)).toMatchObject({ code, disposition, cause });
  });

  it.each([
    ['its name', answered(400, 'ResourceNotFoundException'), 'DynamoDB PutItem failed: ResourceNotFoundException (why)'],
    ['the code of the network', Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }), 'DynamoDB PutItem failed: ECONNREFUSED'],
  ])('says what happened by %s', (_by, cause, message) => {
    expect(toDynamoDbError('PutItem', cause).message).toBe(message);
  });
});
