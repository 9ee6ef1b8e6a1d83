export { failureLines, groupFailures, type FailureGroup } from './failure-lines.js';
export { formatBytes, formatDuration, formatShortDuration } from './format.js';
export { bar, ProgressDisplay, type Progress } from './progress-display.js';
export { reasonOf } from './reason-of.js';
export { columnsOf, StatusLine, type ProgressOutput } from './status-line.js';
export { facts, table, type Column } from './table.js';
export { printable, printableLines, widthOf, withoutMiddle } from './terminal-text.js';
export { sentence, wrapped } from './wrapped.js';
