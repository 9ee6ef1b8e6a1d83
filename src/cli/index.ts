export { emptyList, isBlank, unreadableReason } from './list-problems.js';
export {
  facts,
  columnsOf,
  failureLines,
  groupFailures,
  formatBytes,
  formatDuration,
  ProgressDisplay,
  reasonOf,
  sentence,
  type Progress,
  type ProgressOutput,
} from './presentation/index.js';
