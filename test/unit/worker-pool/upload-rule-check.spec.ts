import { describe, expect, it } from '@jest/globals';
import type { GetBucketLifecycleConfigurationCommand } from '@aws-sdk/client-s3';
import { UploadRuleCheck } from '../../../src/worker-pool/adapters/upload-rule-check.js';
import { settled } from '../../support/fake-clock.js';
import { RecordingLogger } from '../../support/fakes/recording-logger.js';

const ENDS_UPLOADS = { Status: 'Enabled', AbortIncompleteMultipartUpload: { DaysAfterInitiation: 7 } };
const named = (name: string) => Object.assign(new Error(name), { name });

/** What is logged of buckets whose rules are these, or whose reading fails so. */
async function loggedOf(answers: Record<string, object[] | Error>): Promise<RecordingLogger> {
  const logger = new RecordingLogger();
  const send = async ({ input }: GetBucketLifecycleConfigurationCommand) => {
    const answer = answers[input.Bucket ?? ''];
    if (answer instanceof Error) throw answer;
    return { Rules: answer };
  };
  new UploadRuleCheck({ send }, new Set(Object.keys(answers)), logger).start();
  await settled();
  return logger;
}

describe('the check of the buckets’ lifecycle rules', () => {
  it('says nothing of a bucket with a rule that ends stale uploads', async () => {
    expect((await loggedOf({ good: [{ Status: 'Enabled', Expiration: { Days: 30 } }, ENDS_UPLOADS] })).events).toEqual([]);
  });

  it('warns once of each bucket without such a rule, with its name, the reason and the mend', async () => {
    const logger = await loggedOf({
      none: named('NoSuchLifecycleConfiguration'),
      other: [{ Status: 'Enabled', Expiration: { Days: 30 } }],
      off: [{ ...ENDS_UPLOADS, Status: 'Disabled' }],
      good: [ENDS_UPLOADS],
    });
    expect(new Set(logger.events.map(({ level, fields }) => `${level} ${String(fields.bucket)}`))).toEqual(
      new Set(['warn none', 'warn off', 'warn other']),
    );
    expect(logger.events).toHaveLength(3);
    for (const { message, fields } of logger.events) {
      expect(message).toContain(
        `The bucket ${String(fields.bucket)} has no lifecycle rule for multipart uploads: the multipart uploads of`,
      );
      expect(fields.mend).toContain('AbortIncompleteMultipartUpload');
    }
  });

  it.each(['AccessDenied', 'NotImplemented', 'TimeoutError'])('makes no fuss where the rules cannot be read: %s', async (name) => {
    expect((await loggedOf({ bucket: named(name) })).events.map(({ level }) => level)).toEqual(['debug']);
  });
});
