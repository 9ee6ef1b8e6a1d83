import { AppError } from '../../shared/index.js';
import type { PatienceWish, TaskFailure } from './transfer-task.js';

export interface TransferErrorOptions extends PatienceWish {
  retryable: boolean;
  httpStatus?: number;
  failedHost?: string;
  cause?: unknown;
}

/** What ends a transfer, with all that its caller is told. `retryable` is the disposition `retry`, otherwise `reject`. */
export class TransferError extends AppError {
  readonly httpStatus: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly retryAfterHost: string | undefined;
  readonly failedHost: string | undefined;

  constructor(code: string, message: string, options: TransferErrorOptions) {
    super(code, message, { disposition: options.retryable ? 'retry' : 'reject', cause: options.cause });
    this.name = 'TransferError';
    this.httpStatus = options.httpStatus;
    this.retryAfterMs = options.retryAfterMs;
    this.retryAfterHost = options.retryAfterHost;
    this.failedHost = options.failedHost;
  }

  toFailure(): TaskFailure {
    return {
      code: this.code,
      message: this.message,
      retryable: this.disposition === 'retry',
      ...(this.httpStatus === undefined ? {} : { httpStatus: this.httpStatus }),
      ...(this.retryAfterMs === undefined ? {} : { retryAfterMs: this.retryAfterMs }),
      ...(this.retryAfterHost === undefined ? {} : { retryAfterHost: this.retryAfterHost }),
      ...(this.failedHost === undefined ? {} : { failedHost: this.failedHost }),
    };
  }
}
