import type { AwsService, RequestRecord } from './request-log.js';

/** A request as rules see it. */
export interface FaultSubject {
  service: AwsService;
  operation: string;
  body: unknown;
}

/**
 * - `drop-reply`: the request is carried out, then the client's connection is cut: the client cannot know
 * - `cut`: the connection is cut and nothing is carried out
 * - `delay`: waits before carrying it out
 * - `fail`: answers this error and carries nothing out
 * - `call`: runs `fn` once the request has been carried out and before the client is answered
 */
export type FaultAction =
  | { kind: 'drop-reply' }
  | { kind: 'cut' }
  | { kind: 'delay'; ms: number }
  | { kind: 'fail'; status: number; type: string; message?: string }
  | { kind: 'call'; fn: (record: RequestRecord) => void | Promise<void> };

export interface FaultRule<Action = FaultAction> {
  service?: AwsService;
  operation?: string;
  when?: (body: unknown) => boolean;
  /** Matching requests left alone first. Default 0. */
  after?: number;
  /** Matching requests that it then acts on. Default: all, until removed. */
  times?: number;
  action: Action;
}

/** Rules on which requests go wrong, and how. The oldest rule that matches and is due acts alone. */
export class FaultRules<Action = FaultAction> {
  private readonly rules = new Map<FaultRule<Action>, { matched: number }>();

  /** The answer removes the rule. */
  add(rule: FaultRule<Action>): () => void {
    const own = { ...rule };
    this.rules.set(own, { matched: 0 });
    return () => {
      this.rules.delete(own);
    };
  }

  clear(): void {
    this.rules.clear();
  }

  /** The action due for this request; the rules that match count it. */
  take(subject: FaultSubject): Action | undefined {
    for (const [rule, count] of this.rules) {
      if (!matches(rule, subject)) continue;
      count.matched += 1;
      const { after = 0, times = Infinity } = rule;
      if (count.matched > after && count.matched <= after + times) return rule.action;
    }
    return undefined;
  }
}

function matches({ service, operation, when }: FaultRule<unknown>, subject: FaultSubject): boolean {
  return (
    (service === undefined || service === subject.service) &&
    (operation === undefined || operation === subject.operation) &&
    (when === undefined || when(subject.body))
  );
}
