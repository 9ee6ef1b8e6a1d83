import { describe, expect, it } from '@jest/globals';
import { toJobEntity } from '../../../../src/export-jobs/adapters/dynamodb/job-row.schema.js';
import { aNewJob, aPlan, START_ISO } from '../../../support/builders.js';

const counts = { completedTasks: 0, failedTasks: 0, bytesProcessed: 0, batchProgress: {} };
const row = { ...aNewJob(), ...counts, v: 1, status: 'DOWNLOADING', run: 1, attempt: 1, updatedAt: START_ISO, lastProgressAt: START_ISO };

describe('a job row', () => {
  it.each([
    ['of the former version, which sends all messages at once, has all its batches due', { ...row, ...aPlan({ batchCount: 40 }) }, 40],
    ['of the former version that is not expanded has none due', row, 0],
    ['has as many due as it says', { ...row, ...aPlan({ batchCount: 40 }), sentBatches: 8 }, 8],
  ])('%s', (_name, item, sentBatches) => {
    expect(toJobEntity(item).sentBatches).toBe(sentBatches);
  });
});
