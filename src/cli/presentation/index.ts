export { failureLines } from './failure-lines.js';
export { formatBytes, formatDuration } from './format.js';
export { bar, ProgressDisplay, type Progress } from './progress-display.js';
export { reasonOf } from './reason-of.js';
export { StatusLine, type ProgressOutput } from './status-line.js';
export { facts, table, type Column } from './table.js';
