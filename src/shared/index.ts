export { fullJitterMs, type BackoffPolicy } from './backoff.js';
export { CHECKSUM_ALGORITHMS, parseChecksum, type Checksum, type ChecksumAlgorithm, type ParsedChecksum } from './checksum.js';
export { Clock, expiryS, SystemClock, type MonotonicMs } from './clock.js';
export { AppError, maskToken, maskUrl, toLoggable, withoutSecrets, type Disposition, type LoggableError } from './errors.js';
export { canonicalJson, hash32, newId, sha256Hex } from './ids.js';
export { AppLogger, SilentLogger, type LogFields } from './app-logger.js';
export { Metrics, type MetricLabels } from './metrics.js';
export { retryUntil } from './retry.js';
export { Semaphore } from './semaphore.js';
