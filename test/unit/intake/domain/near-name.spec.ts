import { expect, it } from '@jest/globals';
import { nearNameOf } from '../../../../src/intake/domain/near-name.js';

const FIELDS = ['jobId', 'exportId', 'userId', 'taskToken', 'source', 'destination', 'options', 'metadata'];

it.each([
  ['destinaton', 'destination'],
  ['desitnation', 'destination'],
  ['destinations', 'destination'],
  ['Destination', 'destination'],
  ['sources', 'source'],
  ['suorce', 'source'],
  ['option', 'options'],
  ['job_id', 'jobId'],
  ['JobID', 'jobId'],
  ['task-token', 'taskToken'],
  ['taksTokne', 'taskToken'],
  ['metaData', 'metadata'],
  ['destination', undefined],
  ['user', undefined],
  ['id', undefined],
  ['resource', undefined],
  ['priority', undefined],
  ['tasks', undefined],
  ['v', undefined],
  ['', undefined],
])('%j is probably %p', (name, meant) => {
  expect(nearNameOf(name, FIELDS)).toBe(meant);
});
