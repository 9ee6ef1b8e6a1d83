/** What a write of the service is for, by the request that `AwsRequest.name` describes; the first that matches. */
const MEANINGS: [pattern: RegExp, meaning: string][] = [
  [/^PutItem \S*ExportJobs/, 'job accepted'],
  [/^UpdateItem \S*ExportJobs\S*: SET #status = :processing/, 'job reopened'],
  [/^UpdateItem \S*ExportJobs\S*: SET taskToken/, 'token replaced'],
  [/^UpdateItem \S*ExportJobs\S*: SET totalTasks/, 'plan recorded'],
  [/^UpdateItem \S*ExportJobs\S*: SET lastProgressAt/, 'progress of the expansion'],
  [/^UpdateItem \S*ExportJobs\S*: SET lastHeartbeatAt/, 'task heartbeat recorded'],
  [/^UpdateItem \S*ExportJobs\S*: .*outcome = /, 'FINALIZING'],
  [/^UpdateItem \S*ExportJobs\S*: SET finisher = :renewed/, 'lease of a finish renewed'],
  [/^UpdateItem \S*ExportJobs\S*: SET finisher = :successor/, 'finish taken over'],
  [/^UpdateItem \S*ExportJobs\S*: .*completedAt = /, 'job ended'],
  [/^UpdateItem \S*ExportJobs\S*: .*endedBatches/, 'batch counted to its end'],
  [/^UpdateItem \S*ExportJobs\S*: .*batchProgress/, 'batch counted'],
  [/^UpdateItem \S*ExportJobs\S*: SET #status = :downloading/, 'DOWNLOADING'],
  [/^UpdateItem \S*ExportJobs\S*: SET sentBatches/, 'batches due'],
  [/^PutItem \S*ExportBatches/, 'batch row'],
  [/^UpdateItem \S*ExportBatches\S*: SET #run = :newRun/, 'batch moved to the new run'],
  [/^UpdateItem \S*ExportBatches\S*: .*\bclaimId = /, 'batch claimed'],
  [/^UpdateItem \S*ExportBatches\S*: .*lastError = /, 'batch reclaimed'],
  [/^UpdateItem \S*ExportBatches\S*: .*resultKeys = /, 'batch succeeded'],
  [/^UpdateItem \S*ExportBatches\S*: .*seq = :seq.*progressedAt/, 'checkpoint'],
  [/^UpdateItem \S*ExportBatches\S*: .*seq = :seq/, 'lease renewed'],
  [/^UpdateItem \S*ExportBatches\S*: SET #status = :queued/, 'batch released'],
  [/^UpdateItem \S*ExportBatches\S*: SET #status = :cancelled/, 'batch cancelled'],
  [/^UpdateItem \S*ExportBatches\S*: SET enqueuedAt/, 'batch sent again'],
  [/^PutItem \S*ExportReclaims/, 'reclaim history'],
  [/^SendMessage\S* \S*batches/i, 'batch messages sent'],
  [/^DeleteMessage\S* \S*batches/i, 'batch message deleted'],
  [/^DeleteMessage\S* \S*jobs/i, 'job message deleted'],
  [/^SendTaskHeartbeat/, 'task heartbeat'],
  [/^SendTaskSuccess/, 'token answered: success'],
  [/^SendTaskFailure/, 'token answered: failure'],
  [/^PutObject .*\/input\/request\.json/, 'request saved'],
  [/^PutObject .*\/input\//, 'segment'],
  [/^PutObject .*\/results\/SUCCEEDED/, 'results: succeeded'],
  [/^PutObject .*\/results\/FAILED/, 'results: failed'],
  [/^PutObject .*\/failed\.jsonl/, 'failed.jsonl'],
  [/^PutObject .*\/manifest\.json/, 'manifest.json'],
  [/^PutObject /, 'file'],
  [/^CreateMultipartUpload /, 'large file begun'],
  [/^UploadPart /, 'large file: part'],
  [/^CompleteMultipartUpload /, 'large file completed'],
  [/^AbortMultipartUpload /, 'large file given up'],
];

/** These come by the clock: how many there are says nothing, and one is like the other. */
export const BY_THE_CLOCK = ['task heartbeat', 'task heartbeat recorded', 'lease renewed', 'lease of a finish renewed'];

export function meaningOf(name: string): string {
  return MEANINGS.find(([pattern]) => pattern.test(name))?.[1] ?? name;
}
