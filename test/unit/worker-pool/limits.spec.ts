import { expect, it } from '@jest/globals';
import { POOL_TIMINGS } from '../../../src/worker-pool/adapters/pool-thread.js';
import { STALL_TIMEOUT_MS } from '../../../src/worker-pool/adapters/pool-settings.js';
import { MAX_RETRY_AFTER_MS } from '../../../src/worker-pool/domain/http-response.js';
import { MAX_PARTS, MIN_PART_BYTES } from '../../../src/worker-pool/domain/part-plan.js';
import { AGENT_TIMEOUTS } from '../../../src/worker-pool/threads/guarded-agent.js';
import { MAX_REDIRECTS } from '../../../src/worker-pool/threads/http-source.js';
import { MAX_RESUMES } from '../../../src/worker-pool/threads/resumable-body.js';

it('A source has 10 s to connect, 2.5 s for each address, 60 s to answer and 60 s for its next byte', () => {
  expect(AGENT_TIMEOUTS).toEqual({ connectMs: 10_000, addressMs: 2_500, headersMs: 60_000 });
  expect(STALL_TIMEOUT_MS).toBe(60_000);
});

it('A source is followed over 10 redirects, resumed 5 times, and waited for 300 s', () => {
  expect([MAX_REDIRECTS, MAX_RESUMES, MAX_RETRY_AFTER_MS]).toEqual([10, 5, 300_000]);
});

it('A thread has 5 s to obey an abort, and 30 s to answer a ping', () => {
  expect(POOL_TIMINGS.abortGraceMs).toBe(5_000);
  expect(POOL_TIMINGS.pingIntervalMs * POOL_TIMINGS.maxMissedPongs).toBe(30_000);
});

it('A part is 8 MiB at least, and there are 10,000 at most', () => {
  expect([MIN_PART_BYTES, MAX_PARTS]).toEqual([8 * 1024 * 1024, 10_000]);
});
