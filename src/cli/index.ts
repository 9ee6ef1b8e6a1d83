export { facts, formatBytes, formatDuration, ProgressDisplay, reasonOf, type Progress, type ProgressOutput } from './presentation/index.js';
