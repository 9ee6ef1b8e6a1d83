export { fullJitterMs, type BackoffPolicy } from './backoff.js';
export { chunksOf } from './chunks.js';
export { counted } from './counted.js';
export { CHECKSUM_ALGORITHMS, parseChecksum, type Checksum, type ChecksumAlgorithm, type ParsedChecksum } from './checksum.js';
export { Clock, expiryS, isoIn, SystemClock, type MonotonicMs } from './clock.js';
export { endProcess } from './end-process.js';
export {
  AppError,
  isRejected,
  isYielded,
  maskToken,
  maskUrl,
  mayPass,
  retryMessage,
  toLoggable,
  withoutSecrets,
  type Disposition,
  type LoggableError,
} from './errors.js';
export { hostOf } from './host-of.js';
export { canonicalJson, hash32, JOB_ID, newId, sha256Hex } from './ids.js';
export { AppLogger, type LogFields } from './app-logger.js';
export { splitLines, textLines } from './lines.js';
export { Metrics, type MetricLabels } from './metrics.js';
export { RepeatedSignal } from './repeated-signal.js';
export { mergedHeaders, RESERVED_REQUEST_HEADERS } from './request-headers.js';
export { retryUntil } from './retry.js';
export { Semaphore } from './semaphore.js';
export { withoutUndefined } from './without-undefined.js';
export { isRefusedByStore, StoreError, type StoreCall } from './store-error.js';
