import { describe, expect, it } from '@jest/globals';
import { encodeBatchMessage, parseBatchMessage } from '../../../../src/batches/adapters/batch-message.schema.js';
import { aBatch, leaseOf } from '../../../support/builders.js';

const MESSAGE = { jobId: 'job-1', batchNo: 3, run: 2 };

describe('the message of a batch', () => {
  it('survives the queue, and carries its version and nothing else', () => {
    const body = encodeBatchMessage(leaseOf(aBatch({ ...MESSAGE, lockToken: 7 })));
    expect(JSON.parse(body)).toEqual({ v: 1, ...MESSAGE });
    expect(parseBatchMessage(body)).toEqual({ kind: 'ok', message: MESSAGE });
  });

  it('is left for a newer process when its version is newer', () => {
    expect(parseBatchMessage(JSON.stringify({ v: 2, batches: [] }))).toEqual({ kind: 'newer' });
  });

  it.each(['', 'no JSON', '[]', 'null', '{}', JSON.stringify({ v: 1, jobId: 'job-1' }), JSON.stringify({ v: 1, ...MESSAGE, batchNo: -1 })])(
    'cannot be used when it is %j',
    (body) => {
      expect(parseBatchMessage(body)).toEqual({ kind: 'unusable' });
    },
  );
});
