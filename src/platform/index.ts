export { AwsClients } from './aws/index.js';
export { AWS_UNUSABLE, HealthService, StartCheck, type HealthCheck } from './health/index.js';
export { captureLibraryOutput } from './library-output.js';
export { Lifecycle, type DrainDeadlines, type LifecyclePart, type LifecycleStep } from './lifecycle.js';
export { LoopDelay } from './loop-delay.js';
export { NestLogger, PinoLoggerService } from './pino-logger.service.js';
export { PlatformModule } from './platform.module.js';
export { PromMetricsService } from './prom-metrics.service.js';
export { StandstillWatch } from './standstill-watch.js';
