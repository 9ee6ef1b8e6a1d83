/** A pointer to a batch row; the row decides. */
export interface BatchMessage {
  jobId: string;
  batchNo: number;
  run: number;
}

export abstract class BatchQueuePort {
  /**
   * @param delayS the messages are received that much later, at most 900
   * @throws when a message could not be sent; sending again is harmless
   */
  abstract send(messages: readonly BatchMessage[], delayS?: number): Promise<void>;
  /** Whether no message waits to be received, now or after its delay, as far as the queue can tell: its figure is approximate. */
  abstract isEmpty(): Promise<boolean>;
}
