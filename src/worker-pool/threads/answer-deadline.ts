import { Agent, type Dispatcher } from 'undici';
import { TransferError } from '../domain/transfer-error.js';

/** More announcements than this before an answer are no answer. */
const MAX_INTERIM = 16;

/**
 * Agent that waits `deadlineMs` for the head of each answer, from the moment its request goes out: not while it waits for a connection.
 * undici's own timer begins again with each 1xx, so that a 103 now and then would hold a place for ever.
 */
export class DeadlineAgent extends Agent {
  constructor(
    options: Agent.Options,
    private readonly deadlineMs: number,
  ) {
    super({ ...options, headersTimeout: 0 });
  }

  override dispatch(options: Agent.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    return super.dispatch(options, new AnswerDeadline(handler, this.deadlineMs));
  }
}

class AnswerDeadline implements Dispatcher.DispatchHandler {
  private timer: NodeJS.Timeout | undefined;
  private lastLook: NodeJS.Immediate | undefined;
  private interim = 0;

  constructor(
    private readonly handler: Dispatcher.DispatchHandler,
    private readonly deadlineMs: number,
  ) {}

  onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    this.disarm();
    const late = () => controller.abort(new TransferError('HEADERS_TIMEOUT', 'no answer in time', { retryable: true }));
    // A thread that was busy looks at its timers before it reads what has come meanwhile.
    this.timer = setTimeout(() => (this.lastLook = setImmediate(late)), this.deadlineMs);
    this.handler.onRequestStart?.(controller, context);
  }

  onResponseStart(...args: Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>): void {
    const [controller, status] = args;
    if (status >= 200) this.disarm();
    else if (++this.interim > MAX_INTERIM)
      return controller.abort(new TransferError('SOURCE_PROTOCOL', 'the source announces an answer without end', { retryable: false }));
    this.handler.onResponseStart?.(...args);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.handler.onResponseData?.(controller, chunk);
  }

  onResponseEnd(...args: Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseEnd']>>): void {
    this.handler.onResponseEnd?.(...args);
  }

  onResponseError(controller: Dispatcher.DispatchController, error: Error): void {
    this.disarm();
    this.handler.onResponseError?.(controller, error);
  }

  private disarm(): void {
    clearTimeout(this.timer);
    clearImmediate(this.lastLook);
  }
}
