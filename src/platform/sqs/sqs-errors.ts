import { AppError, toLoggable } from '../../shared/index.js';

/** The delivery is not ours any more: deleted, or received again by someone. */
const GONE_CODES = new Set(['ReceiptHandleIsInvalid', 'MessageNotInflight']);
const GONE_MESSAGE = /does not exist or is not available/;

/** `code` may come with the prefix of the older protocol (`AWS.SimpleQueueService.MessageNotInflight`). */
export function isGone(code: string | undefined, message: string | undefined): boolean {
  return GONE_CODES.has(code?.split('.').at(-1) ?? '') || GONE_MESSAGE.test(message ?? '');
}

/** An error of the SDK in our words. Its message stays behind in `cause`: it may quote a receipt handle or a body. */
export function toSqsError(operation: string, cause: unknown): AppError {
  const { name } = toLoggable(cause);
  if (cause instanceof Error && isGone(name, cause.message))
    return new AppError('SQS_MESSAGE_GONE', `SQS ${operation}: the message is not ours any more`, { disposition: 'yield', cause });
  return new AppError('SQS_UNAVAILABLE', `SQS ${operation} failed: ${name}`, { disposition: 'retry', cause });
}
