export { AwsClients } from './aws/aws-clients.js';
export { HealthService, type HealthCheck } from './health.service.js';
export { Lifecycle, type DrainDeadlines, type LifecyclePart, type LifecycleStep } from './lifecycle.js';
export { LoopDelay } from './loop-delay.js';
export { NestLogger, PinoLoggerService } from './pino-logger.service.js';
export { PlatformModule } from './platform.module.js';
export { PromMetricsService } from './prom-metrics.service.js';
