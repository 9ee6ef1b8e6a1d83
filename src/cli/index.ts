export { facts, formatBytes, formatDuration, ProgressDisplay, table, type Progress, type ProgressOutput } from './presentation/index.js';
