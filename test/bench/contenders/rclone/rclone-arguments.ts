import { join } from 'node:path';
import type { Limits } from '../contender.js';

/**
 * rclone at its best against this sink, with all its verification (nothing of `--ignore-checksum`, `no_head`): it hashes each stream with MD5,
 * asks for the object after its upload and compares; of a multipart upload it compares the ETag. Objects from one part on are
 * uploaded in parts, as ours are.
 */
export function rcloneArguments(csv: string, bucket: string, { threads, filesPerThread, partsPerFile, partBytes }: Limits): string[] {
  return [
    'copyurl',
    '--urls',
    csv,
    `sink:${bucket}/`,
    `--transfers=${threads * filesPerThread}`,
    `--s3-upload-concurrency=${partsPerFile}`,
    `--s3-chunk-size=${partBytes}B`,
    `--s3-upload-cutoff=${partBytes + 1}B`,
    '--stats=0',
    '--log-level=ERROR',
  ];
}

/** The remote `sink`, with nothing of a person's own settings. */
export function rcloneEnvironment(sinkUrl: string, folder: string): Record<string, string> {
  return {
    RCLONE_CONFIG: join(folder, 'no-such-file.conf'),
    RCLONE_CONFIG_SINK_TYPE: 's3',
    RCLONE_CONFIG_SINK_PROVIDER: 'Other',
    RCLONE_CONFIG_SINK_ENDPOINT: sinkUrl,
    RCLONE_CONFIG_SINK_REGION: 'us-east-1',
    RCLONE_CONFIG_SINK_ACCESS_KEY_ID: 'bench',
    RCLONE_CONFIG_SINK_SECRET_ACCESS_KEY: 'bench',
    RCLONE_CONFIG_SINK_NO_CHECK_BUCKET: 'true',
    RCLONE_CONFIG_SINK_USE_MULTIPART_ETAG: 'true',
  };
}
