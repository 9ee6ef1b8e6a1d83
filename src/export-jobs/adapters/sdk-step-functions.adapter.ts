import { SendTaskFailureCommand, SendTaskHeartbeatCommand, SendTaskSuccessCommand, SFNClient } from '@aws-sdk/client-sfn';
import { toLoggable } from '../../shared/index.js';
import { StepFunctionsPort, type TokenAnswer } from '../application/step-functions.port.js';

/** The token expired, its execution stopped or timed out, or it was answered. */
const GONE = new Set(['TaskTimedOut', 'TaskDoesNotExist']);
/** About what was sent, not about the token. */
const UNUSABLE = new Set(['InvalidOutput', 'ValidationException', 'ValidationError']);
/** Our role's policy, a boundary or the organisation forbids the call; a Kms… error is about the state machine's key instead. */
const FORBIDDEN = new Set(['AccessDenied', 'AccessDeniedException']);
/** Refused before anything was applied. */
const REFUSED =
  /Throttling|TooManyRequests|ExpiredToken|RequestExpired|InvalidClientTokenId|UnrecognizedClient|InvalidSignature|CredentialsProvider|ECONNREFUSED/;

/** The error funnel of every call with a task token. The client makes one attempt a call. */
export class SdkStepFunctionsAdapter extends StepFunctionsPort {
  constructor(private readonly client: SFNClient) {
    super();
  }

  sendHeartbeat(taskToken: string): Promise<TokenAnswer> {
    return answerOf(this.client.send(new SendTaskHeartbeatCommand({ taskToken })));
  }

  sendSuccess(taskToken: string, output: string): Promise<TokenAnswer> {
    return answerOf(this.client.send(new SendTaskSuccessCommand({ taskToken, output })));
  }

  sendFailure(taskToken: string, failure: { error: string; cause: string } | undefined): Promise<TokenAnswer> {
    return answerOf(this.client.send(new SendTaskFailureCommand({ taskToken, ...failure })));
  }
}

async function answerOf(call: Promise<unknown>): Promise<TokenAnswer> {
  try {
    await call;
    return { kind: 'accepted' };
  } catch (error) {
    return classifyTokenError(error);
  }
}

/** AWS's error names carry no `Exception` suffix here, except those of KMS. */
export function classifyTokenError(error: unknown): TokenAnswer {
  const { name, message } = toLoggable(error);
  if (GONE.has(name)) return { kind: 'gone', code: name };
  if (name === 'InvalidToken') return { kind: 'invalid-token' };
  if (FORBIDDEN.has(name)) return { kind: 'not-allowed', reason: name, detail: message };
  if (UNUSABLE.has(name)) return { kind: 'answer-unusable', reason: name };
  if (name.startsWith('Kms') && !name.startsWith('KmsThrottling')) return { kind: 'key-unusable', reason: name };
  return { kind: 'unavailable', reason: name, maybeApplied: !REFUSED.test(name) && !name.startsWith('Kms') };
}
