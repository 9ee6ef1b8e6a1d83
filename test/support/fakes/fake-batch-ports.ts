import { BatchFilesPort, type Segment, type TaskResult } from '../../../src/batches/application/batch-files.port.js';
import { BatchQueuePort, type BatchMessage } from '../../../src/batches/application/batch-queue.port.js';
import type { ResultFile } from '../../../src/batches/domain/batch.entity.js';
import { Gate } from './gate.js';

export class FakeBatchQueue extends BatchQueuePort {
  readonly sent: BatchMessage[] = [];
  /** In seconds, one of each call. */
  readonly delays: number[] = [];

  constructor(readonly gate: Gate = new Gate()) {
    super();
  }

  /** What `isEmpty` answers. */
  empty = true;

  isEmpty(): Promise<boolean> {
    return this.gate.pass('isEmpty', () => this.empty);
  }

  send(messages: readonly BatchMessage[], delayS = 0): Promise<void> {
    return this.gate.pass('send', () => {
      this.sent.push(...messages);
      this.delays.push(delayS);
    });
  }
}

/** One segment for every batch, or what the test has for its key, and the result files by their fence. */
export class FakeBatchFiles extends BatchFilesPort {
  readonly results = new Map<string, readonly TaskResult[]>();
  readonly described: number[] = [];

  constructor(
    private readonly segment: Segment | ((segmentKey: string) => Segment),
    readonly gate: Gate = new Gate(),
  ) {
    super();
  }

  loadSegment(_bucket: string, segmentKey: string): Promise<Segment> {
    return this.gate.pass('loadSegment', () => (typeof this.segment === 'function' ? this.segment(segmentKey) : this.segment));
  }

  describeDone(_segment: Segment, position: number): Promise<TaskResult> {
    return this.gate.pass('describeDone', () => {
      this.described.push(position);
      return { success: true, position, size: 10, etag: 'etag', sha256: null, attempts: null, durationMs: null };
    });
  }

  writeResults(
    at: { batchNo: number; fence: string },
    _segment: Segment,
    results: readonly TaskResult[],
  ): Promise<{ succeeded: ResultFile; failed: ResultFile }> {
    return this.gate.pass('writeResults', () => {
      const name = `${at.batchNo}_${at.fence}`;
      this.results.set(name, results);
      return { succeeded: { key: `SUCCEEDED_${name}`, size: 1 }, failed: { key: `FAILED_${name}`, size: 1 } };
    });
  }
}
