export { CoordinatorHeartbeatService } from './application/coordinator-heartbeat.service.js';
export { workLimitMs } from './domain/liveness.js';
