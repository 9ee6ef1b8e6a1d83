export { dependenciesOf } from './dependencies.js';
export { type HealthCheck } from './dependency.js';
export { DependencyChecks } from './dependency-checks.js';
export { HealthController } from './health.controller.js';
export { HealthService } from './health.service.js';
export { AWS_UNUSABLE, StartCheck } from './start-check.js';
