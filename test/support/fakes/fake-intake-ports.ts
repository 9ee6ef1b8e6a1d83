import { DeadLetterPort } from '../../../src/intake/application/dead-letter.port.js';
import { DestinationPort } from '../../../src/intake/application/destination.port.js';
import { ExpansionTurn } from '../../../src/intake/application/expansion-turns.js';
import { ManifestPort, type ManifestReading, type SpooledManifest } from '../../../src/intake/application/manifest.port.js';
import { SegmentWriterPort } from '../../../src/intake/application/segment-writer.port.js';
import type { ExportRequest } from '../../../src/intake/domain/export-request.js';
import type { ManifestTask } from '../../../src/intake/domain/manifest-task.js';
import { settled } from '../fake-clock.js';
import { Gate } from './gate.js';

/** The turn of an expansion that is alone in its process. */
export class UnsharedTurn extends ExpansionTurn {
  whileWaiting<T>(wait: () => Promise<T>): Promise<T> {
    return wait();
  }

  whileInLine<T>(wait: () => Promise<T>): Promise<T> {
    return wait();
  }
}

/** A manifest of as many tasks as the test says. Each read takes a turn of the event loop, like a file's. */
export class FakeManifest extends ManifestPort {
  totalTasks = 0;
  disposed = 0;

  constructor(readonly gate: Gate = new Gate()) {
    super();
  }

  spool(_request: ExportRequest, { onProgress }: ManifestReading): Promise<SpooledManifest> {
    return this.gate.pass('spool', () => {
      onProgress();
      const { totalTasks } = this;
      return { totalTasks, repeatedTasks: 0, tasks: () => tasks(totalTasks), dispose: () => Promise.resolve(void this.disposed++) };
    });
  }
}

async function* tasks(count: number): AsyncIterable<ManifestTask> {
  for (let index = 0; index < count; index++) {
    await settled();
    yield { url: `https://origin.test/${index}`, key: `file-${index}` };
  }
}

/** Segments by key. */
export class FakeSegmentWriter extends SegmentWriterPort {
  readonly segments = new Map<string, { firstIndex: number; tasks: readonly ManifestTask[] }>();

  constructor(readonly gate: Gate = new Gate()) {
    super();
  }

  write(_request: ExportRequest, at: { key: string; firstIndex: number }, tasks: readonly ManifestTask[]): Promise<void> {
    return this.gate.pass('writeSegment', () => void this.segments.set(at.key, { firstIndex: at.firstIndex, tasks }));
  }
}

export class FakeDeadLetters extends DeadLetterPort {
  readonly copies: { body: string; reason: string }[] = [];

  refuses = false;

  copy(body: string, reason: string): Promise<{ cut: boolean }> {
    if (this.refuses) return Promise.reject(new Error('the queue takes nothing'));
    this.copies.push({ body, reason });
    return Promise.resolve({ cut: false });
  }
}

export class FakeDestinations extends DestinationPort {
  found: 'there' | 'missing' | 'unknown' = 'there';

  look(): Promise<'there' | 'missing' | 'unknown'> {
    return Promise.resolve(this.found);
  }
}
