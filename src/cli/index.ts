export { emptyList, isBlank, unreadableReason } from './list-problems.js';
export {
  facts,
  failureLines,
  formatBytes,
  formatDuration,
  ProgressDisplay,
  reasonOf,
  type Progress,
  type ProgressOutput,
} from './presentation/index.js';
