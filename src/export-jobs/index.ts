export { brokenFile, orBrokenFile } from './adapters/s3/broken-file.js';
export { parseFailedLine, type FailedLine, type SucceededLine } from './adapters/s3/result-line.schema.js';
export { parseSegmentHeader, parseSegmentTask, type SegmentHeader, type SegmentTask } from './adapters/s3/segment.schema.js';
export { CancelJobUseCase } from './application/cancel-job.use-case.js';
export { CompleteJobUseCase } from './application/complete-job.use-case.js';
export { CountBatchEndUseCase } from './application/count-batch-end.use-case.js';
export { answerOf } from './application/finish-job.js';
export { HeartbeatOrchestratorService } from './application/heartbeat-orchestrator.service.js';
export { HeartbeatOrchestratorLifecycle } from './adapters/heartbeat-orchestrator.lifecycle.js';
export { JobBatchesPort, type BatchSummary } from './application/job-batches.port.js';
export { JobCounterService, type CountOutcome } from './application/job-counter.service.js';
export { JobWindowService } from './application/job-window.service.js';
export { JobResultsPort } from './application/job-results.port.js';
export { ReopenJobUseCase } from './application/reopen-job.use-case.js';
export { JobStateRepositoryPort, type JobFilter, type NewJob } from './application/job-state-repository.port.js';
export { LiveCoordinatorsPort } from './application/live-coordinators.port.js';
export { SettleTokenService } from './application/settle-token.service.js';
export { StuckFinishesQuery } from './application/stuck-finishes.query.js';
export { StepFunctionsPort, type TokenAnswer } from './application/step-functions.port.js';
export { TaskHeartbeatService } from './application/task-heartbeat.service.js';
export { TopUpJobUseCase } from './application/top-up-job.use-case.js';
export { failureAnswer } from './domain/answer.js';
export { decideFirstSend, isDue } from './domain/decide-send.js';
export { DESTINATION_REFUSED, destinationRefused, destinationRefusedEnd, MAX_REFUSALS } from './domain/destination-refused.js';
export {
  ACTIVE_STATUSES,
  TERMINAL_STATUSES,
  isCounting,
  isTerminal,
  type ActiveStatus,
  type ExpansionPlan,
  type ExportJobEntity,
  type FailureTolerance,
  type Callback,
  type JobError,
  type JobStatus,
  type ResultsNotWritten,
} from './domain/export-job.entity.js';
export { batchResultKeys, EXPORT_FOLDER, failedManifestKey, requestKey, segmentKey, segmentPrefix } from './domain/export-layout.js';
export { jobInHand, type JobInHand } from './domain/job-in-hand.js';
export { JobStateVO } from './domain/job-state.vo.js';
export { isWhollyDone } from './domain/reopening.js';
