/** Where the files of a job are to go. */
export abstract class DestinationPort {
  /** Whether the bucket is there; `unknown`: it could not be told, which must hold nobody up. Never rejects, answers within seconds. */
  abstract look(bucket: string): Promise<'there' | 'missing' | 'unknown'>;
}
