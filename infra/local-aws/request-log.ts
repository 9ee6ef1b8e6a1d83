export type AwsService = 'dynamodb' | 'sqs' | 'states' | 's3';

/** One request as the embedded AWS saw it. Never holds a task token, a message body, or a header. */
export interface RequestRecord {
  /** ISO-8601 UTC of the request's arrival. */
  at: string;
  service: AwsService;
  /** The API's own name: `UpdateItem`, `SendTaskHeartbeat`, `CompleteMultipartUpload` … */
  operation: string;
  /** Table, queue, `bucket/key`, or execution ARN. */
  resource?: string;
  /** HTTP status that the client was (or would have been) sent. */
  status: number;
  /** AWS's error name, when the answer was one. */
  error?: string;
  /** What the injected fault did, if one matched: `dropped-reply`, `delayed`, `failed`, `cut`. */
  fault?: string;
  /** Facts for tests by service: `condition` and `keys` of a write, `state`, `attempt` and `answer` of a token. */
  detail?: Record<string, unknown>;
}

/** More would fill the memory of a local AWS that runs for days; no suite or demo comes near it. */
const MAX_RECORDS = 500_000;

/** Keeps what happened, in order, for tests and for the demo's checks from outside; the oldest are forgotten beyond 500,000. */
export class RequestLog {
  readonly records: RequestRecord[] = [];
  private readonly listeners = new Set<(record: RequestRecord) => void>();

  add(record: RequestRecord): void {
    if (this.records.length === MAX_RECORDS) this.records.splice(0, MAX_RECORDS / 10);
    this.records.push(record);
    for (const listener of this.listeners) listener(record);
  }

  /** Calls `listener` for every later record; the answer ends that. */
  subscribe(listener: (record: RequestRecord) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  of(service: AwsService, operation?: string): RequestRecord[] {
    return this.records.filter((record) => record.service === service && (operation === undefined || record.operation === operation));
  }
}
