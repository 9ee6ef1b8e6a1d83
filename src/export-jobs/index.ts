export { parseFailedLine, type FailedLine, type SucceededLine } from './adapters/s3/result-line.schema.js';
export { parseSegmentHeader, parseSegmentTask, type SegmentHeader, type SegmentTask } from './adapters/s3/segment.schema.js';
export { CancelJobUseCase } from './application/cancel-job.use-case.js';
export { CompleteJobUseCase, type CompleteOutcome } from './application/complete-job.use-case.js';
export { HeartbeatOrchestratorService, type HeartbeatTurn } from './application/heartbeat-orchestrator.service.js';
export { HeartbeatOrchestratorLifecycle } from './adapters/heartbeat-orchestrator.lifecycle.js';
export { JobBatchesPort, type BatchSummary } from './application/job-batches.port.js';
export { JobCounterService, type CountOutcome } from './application/job-counter.service.js';
export { JobResultsPort } from './application/job-results.port.js';
export { JobStateRepositoryPort, type NewJob } from './application/job-state-repository.port.js';
export { LiveCoordinatorsPort } from './application/live-coordinators.port.js';
export { SettleTokenService } from './application/settle-token.service.js';
export { StepFunctionsPort, type TokenAnswer } from './application/step-functions.port.js';
export { TaskHeartbeatService } from './application/task-heartbeat.service.js';
export { answerOf } from './application/complete-job.use-case.js';
export { failureAnswer, type JobSummary } from './domain/answer.js';
export {
  ACTIVE_STATUSES,
  isCounting,
  isTerminal,
  type ActiveStatus,
  type Destination,
  type ExpansionPlan,
  type ExportJobEntity,
  type FailureTolerance,
  type JobError,
  type JobStatus,
} from './domain/export-job.entity.js';
export { batchResultKeys, EXPORT_FOLDER, failedManifestKey, requestKey, segmentKey, segmentPrefix } from './domain/export-layout.js';
export { JobStateVO } from './domain/job-state.vo.js';
