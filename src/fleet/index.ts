export { CoordinatorHeartbeatService } from './application/coordinator-heartbeat.service.js';
export type { FleetCount } from './application/fleet-memory.js';
export { FleetViewQuery } from './application/fleet-view.query.js';
export { workLimitMs } from './domain/liveness.js';
