export { failureLines, groupFailures, type FailureGroup } from './failure-lines.js';
export { formatBytes, formatDuration, formatShortDuration } from './format.js';
export { bar, ProgressDisplay, type Progress } from './progress-display.js';
export { reasonOf } from './reason-of.js';
export { columnsOf, StatusLine, type ProgressOutput } from './status-line.js';
export { facts, table, withoutMiddle, type Column } from './table.js';
export { sentence, wrapped } from './wrapped.js';
