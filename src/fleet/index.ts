export { CoordinatorHeartbeatService } from './application/coordinator-heartbeat.service.js';
