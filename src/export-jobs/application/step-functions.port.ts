/** What a call with a task token taught us; shared by heartbeats and settling. */
export type TokenAnswer =
  | { kind: 'accepted' }
  /** Timed out, stopped, or already answered: nobody listens to this token any more. */
  | { kind: 'gone'; code: string }
  /** Garbled, or of another account or region: perhaps our own configuration. */
  | { kind: 'invalid-token' }
  /** Throttled, 5xx, network, credentials: says nothing about the token. `maybeApplied`: the reply was lost. */
  | { kind: 'unavailable'; reason: string; maybeApplied: boolean }
  /** Our role may not make this call: our own configuration, until a person mends it. `detail`: what AWS says of it. */
  | { kind: 'not-allowed'; reason: string; detail: string }
  /** Step Functions does not take an answer of this form: the same again will not pass either. */
  | { kind: 'answer-unusable'; reason: string }
  /** The state machine's key cannot be used: only an answer without error and cause may pass. */
  | { kind: 'key-unusable'; reason: string };

/** The mend of `not-allowed`. These calls know no narrower resource: a token names no state machine. */
export const PERMISSIONS_NEEDED =
  'allow this service’s role states:SendTaskSuccess, states:SendTaskFailure and states:SendTaskHeartbeat on resource "*"';

/** Each call is one request with its own timeout, never retried inside: the callers own the only retry layer. */
export abstract class StepFunctionsPort {
  abstract sendHeartbeat(taskToken: string): Promise<TokenAnswer>;
  /** @param output JSON text of at most 262,144 bytes of UTF-8 */
  abstract sendSuccess(taskToken: string, output: string): Promise<TokenAnswer>;
  /** @param failure `undefined`: neither error nor cause (the last resort when the key is unusable) */
  abstract sendFailure(taskToken: string, failure: { error: string; cause: string } | undefined): Promise<TokenAnswer>;
}
