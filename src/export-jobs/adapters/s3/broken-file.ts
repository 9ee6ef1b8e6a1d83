import { ZodError } from 'zod';
import type { S3Location } from '../../../platform/s3/index.js';
import { AppError } from '../../../shared/index.js';

/** A segment or a result file that is not there any more, or is not what this service wrote: trying again changes nothing. */
export function brokenFile({ bucket, key }: S3Location, problem: string, cause?: unknown): AppError {
  return new AppError('EXPORT_FILE_BROKEN', `s3://${bucket}/${key} ${problem}`, { disposition: 'reject', cause });
}

/** What a read of such a file met, as `EXPORT_FILE_BROKEN` if it is so for good; anything else may pass, and stays as it is. */
export function orBrokenFile(at: S3Location, error: unknown): unknown {
  if (error instanceof Error && error.name === 'NoSuchKey') return brokenFile(at, 'is not there any more', error);
  // During a deploy a newer version may have written it: that is for its own coordinators.
  const isNewer = error instanceof ZodError && error.issues.some(({ path }) => path[0] === 'v');
  const isForeign = (error instanceof ZodError && !isNewer) || error instanceof SyntaxError;
  return isForeign ? brokenFile(at, 'is not what this service wrote', error) : error;
}
