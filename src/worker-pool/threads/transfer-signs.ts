/** Told by whoever waits for a source. Not told: that nobody reads, because memory or S3 is waited for. */
export interface SourceWait {
  /** The source is asked, or its body is read. Again, before it was heard, changes nothing. */
  begin(): void;
  /** Something came: the head of an answer, bytes, or the end of the body. A failure is nothing that came. */
  heard(): void;
}

/** What is told of a transfer while it runs. */
export interface TransferSigns {
  /** Bytes read so far. */
  onBytes: (total: number) => void;
  /** The source has been read to its end. */
  onRead: () => void;
  wait: SourceWait;
}
