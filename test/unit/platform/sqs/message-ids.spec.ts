import { expect, it } from '@jest/globals';
import { idsOf } from '../../../../src/platform/sqs/index.js';

it.each([
  ['{"jobId":"job-1","taskToken":"secret","source":{}}', { jobId: 'job-1' }],
  ['{"v":1,"jobId":"job-1","batchNo":0,"run":1}', { jobId: 'job-1', batchNo: 0 }],
  ['{"jobId":7,"batchNo":"x"}', {}],
  [JSON.stringify({ jobId: 'x'.repeat(1_000) }), {}],
  [
    '\uFEFF{"jobId":"5a8b2c00-0000-0000-0000-000000000000_5a8b2c00-0000-0000-0000-000000003210"}',
    { jobId: '5a8b2c00-0000-0000-0000-000000000000_5a8b2c00-0000-0000-0000-000000003210' },
  ],
  ['null', {}],
  ['no JSON', {}],
])('what a log may say of the message %.40s is its job and its batch', (body, ids) => {
  expect(idsOf({ body })).toEqual(ids);
});
