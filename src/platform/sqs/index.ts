export { handBack } from './hand-back.js';
export { idsOf, jsonOf } from './message-ids.js';
export { LONG_POLL_S, PollLoop, type Pace, type PollLoopOptions } from './poll-loop.js';
export {
  MAX_MESSAGE_BYTES,
  messageBytes,
  VisibilityPort,
  type OutgoingMessage,
  type ReceivedMessage,
  type VisibilityChange,
  type VisibilityOutcome,
} from './sqs-messages.js';
export { resolveMaxReceiveCount } from './redrive-policy.js';
export { SqsQueue, type QueueAttributes } from './sqs-queue.js';
export { SqsVisibilityAdapter } from './sqs-visibility.adapter.js';
export { type HeldMessage, type VisibilityHeartbeat } from './visibility-heartbeat.js';
export { VisibilityHeartbeats, type VisibilitySettings } from './visibility-heartbeats.js';
export { askedOnce, FALLBACK_VISIBILITY_S, resolveVisibilityTimeoutS } from './visibility-timeout.js';
