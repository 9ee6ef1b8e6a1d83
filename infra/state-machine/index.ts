import machine from './export.asl.json' with { type: 'json' };

export interface ExportStateMachineParameters {
  jobsQueueUrl: string;
  /** At least 4 heartbeat intervals of the service, 5 recommended. Default 150. */
  heartbeatSeconds?: number;
  /** How long one attempt may take in all; must exceed `heartbeatSeconds`. Default 86,400. */
  timeoutSeconds?: number;
  /** Wait before the first retry after a timeout; doubled for the next. Default 10. */
  retryIntervalSeconds?: number;
  /** Retries after a timeout; 0 for none. Default 2. */
  maxAttempts?: number;
}

/** The shipped state machine in the states language, its parameters filled in. */
export function exportStateMachine(parameters: ExportStateMachineParameters): string {
  const { ExportFiles: task, ...others } = machine.States;
  const { jobsQueueUrl, heartbeatSeconds = task.HeartbeatSeconds, timeoutSeconds = task.TimeoutSeconds } = parameters;
  const retry = task.Retry.map((retrier) =>
    retrier.ErrorEquals.includes('States.Timeout') ? withParameters(retrier, parameters) : retrier,
  );
  const filledIn = {
    ...task,
    Parameters: { ...task.Parameters, QueueUrl: task.Parameters.QueueUrl.replace('${JobsQueueUrl}', () => jobsQueueUrl) },
    HeartbeatSeconds: heartbeatSeconds,
    TimeoutSeconds: timeoutSeconds,
    Retry: retry,
  };
  return JSON.stringify({ ...machine, States: { ExportFiles: filledIn, ...others } }, null, 2);
}

function withParameters<R extends object>(retrier: R, { retryIntervalSeconds, maxAttempts }: ExportStateMachineParameters): R {
  return {
    ...retrier,
    ...(retryIntervalSeconds === undefined ? {} : { IntervalSeconds: retryIntervalSeconds }),
    ...(maxAttempts === undefined ? {} : { MaxAttempts: maxAttempts }),
  };
}
