import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/local-aws.js';
import { ExportFixture } from './export-fixture.js';

const WARNING = 'has no lifecycle rule for multipart uploads';

describe('a service that starts', () => {
  let fixture: ExportFixture;
  beforeEach(async () => {
    fixture = await ExportFixture.start();
    fixture.aws.s3.createBucket('without-rule');
  });
  afterEach(() => fixture.close());

  const start = () =>
    fixture.startService({ ALLOWED_DESTINATION_BUCKETS: `${fixture.aws.resources.bucket},without-rule`, SHUTDOWN_TIMEOUT_MS: '6000' });

  it('names the destination bucket without a lifecycle rule for multipart uploads, and no other', async () => {
    const service = await start();
    await eventually(() => service.said(WARNING));
    await service.stop();
    const warnings = service.events().filter(({ msg }) => msg.includes(WARNING));
    expect(warnings).toMatchObject([{ level: 'warn', bucket: 'without-rule' }]);
  });

  it('neither waits for the rules of its buckets nor is kept by them when it stops', async () => {
    const operation = 'GetBucketLifecycleConfiguration';
    fixture.aws.s3.faults.add({ operation, action: { kind: 'delay', ms: 600_000 } });
    const service = await start();
    const stopped = await service.stop();
    expect(stopped.code).toBe(0);
    const aboutRules = service.events().filter(({ msg, part }) => msg.includes('lifecycle') || part === 'upload-rules');
    expect(aboutRules.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([]);
  });
});
