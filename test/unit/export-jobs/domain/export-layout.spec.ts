import { describe, expect, it } from '@jest/globals';
import {
  batchResultKeys,
  failedManifestKey,
  manifestKey,
  requestKey,
  segmentKey,
  segmentPrefix,
} from '../../../../src/export-jobs/domain/export-layout.js';

const DESTINATION = { bucket: 'exports', prefix: 'exports/' };
const FOLDER = 'exports/_export/job-1/';

describe('the keys of a job', () => {
  it('Random prefix per attempt: two expansions share no segment', () => {
    const prefix = segmentPrefix(DESTINATION, 'job-1', 'expansion-1');
    expect(segmentKey(prefix, 7)).toBe(`${FOLDER}input/expansion-1/000007.jsonl`);
    expect(segmentPrefix(DESTINATION, 'job-1', 'expansion-2')).not.toBe(prefix);
  });

  it('Result keys carry lockToken: two holders of a batch share no file', () => {
    expect(batchResultKeys(DESTINATION, 'job-1', 7, '3')).toEqual({
      succeeded: `${FOLDER}results/SUCCEEDED_000007_3.jsonl`,
      failed: `${FOLDER}results/FAILED_000007_3.jsonl`,
    });
  });

  it('Manifest key per run: a late finisher of run 1 does not write over what run 2 has written', () => {
    expect(manifestKey(DESTINATION, 'job-1', 1)).toBe(`${FOLDER}run-1/manifest.json`);
    expect(manifestKey(DESTINATION, 'job-1', 2)).toBe(`${FOLDER}run-2/manifest.json`);
    expect(failedManifestKey(DESTINATION, 'job-1', 2)).toBe(`${FOLDER}run-2/failed.jsonl`);
  });

  it('lie in the job’s own folder', () => {
    expect(requestKey(DESTINATION, 'job-1')).toBe(`${FOLDER}input/request.json`);
    expect(requestKey({ ...DESTINATION, prefix: '' }, 'job-2')).toBe('_export/job-2/input/request.json');
  });
});
