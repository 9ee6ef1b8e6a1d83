/** A pointer to a batch row; the row decides. */
export interface BatchMessage {
  jobId: string;
  batchNo: number;
  run: number;
}

export abstract class BatchQueuePort {
  /** @throws when a message could not be sent; sending again is harmless. */
  abstract send(messages: readonly BatchMessage[]): Promise<void>;
}
