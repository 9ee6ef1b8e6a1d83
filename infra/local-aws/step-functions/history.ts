/** An event as GetExecutionHistory shows it; its details stand in a member named for its type. */
export type HistoryEvent = {
  readonly id: number;
  readonly previousEventId: number;
  readonly type: string;
  /** Epoch seconds. */
  readonly timestamp: number;
} & Readonly<Record<`${string}EventDetails`, Readonly<Record<string, unknown>>>>;

export class ExecutionHistory {
  readonly events: HistoryEvent[] = [];
  private ended = false;

  /** Nothing once the execution has ended: what the engine and its tasks still do then is not part of it. */
  add(type: string, details: Readonly<Record<string, unknown>>): void {
    if (this.ended) return;
    const previousEventId = this.events.length;
    const event = { id: previousEventId + 1, previousEventId, type, timestamp: Date.now() / 1_000 };
    this.events.push(Object.assign(event, { [detailsMember(type)]: details }));
  }

  end(type: string, details: Readonly<Record<string, unknown>>): void {
    this.add(type, details);
    this.ended = true;
  }
}

/** Entering and leaving share one member over all types of state: `TaskStateEntered` → `stateEnteredEventDetails`. */
function detailsMember(type: string): `${string}EventDetails` {
  const shared = type.replace(/^.*(?=State(Entered|Exited)$)/, '');
  return `${shared.charAt(0).toLowerCase()}${shared.slice(1)}EventDetails`;
}
