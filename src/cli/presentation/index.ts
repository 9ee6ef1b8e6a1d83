export { failureLines } from './failure-lines.js';
export { formatBytes, formatDuration } from './format.js';
export { ProgressDisplay, type Progress, type ProgressOutput } from './progress-display.js';
export { reasonOf } from './reason-of.js';
export { facts, table } from './table.js';
