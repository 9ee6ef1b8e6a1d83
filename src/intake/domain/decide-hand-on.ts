/**
 * A job is handed on so often at most: 50 s of looking for a coordinator with room. Then it waits
 * where it is.
 */
const MAX_HAND_ONS = 10;
/**
 * Those behind so many do not wait here: their messages would fill what a coordinator may hold, and
 * no new job would be accepted. The ones before them keep their places.
 */
const MAX_WAITING = 500;
const POSTPONED_S = 30;

export interface WaitingJob {
  /** How often it was handed on before. */
  handOns: number;
  /** The job's place among those that wait here to have their lists opened, from 1. */
  place: number;
  /** Whether another coordinator is alive. */
  hasOthers: boolean;
}

/**
 * `hand-on`: another coordinator may have room · `postpone`: nobody is known to have, and too many
 * wait before it · `wait`: here, in line.
 */
export type HandOnDecision = { kind: 'wait' } | { kind: 'hand-on' | 'postpone'; delayS: number };

/** What becomes of a job whose list could not be opened for a while. */
export function decideHandOn({ handOns, place, hasOthers }: WaitingJob): HandOnDecision {
  if (hasOthers && handOns < MAX_HAND_ONS) return { kind: 'hand-on', delayS: 0 };
  if (place > MAX_WAITING) return { kind: 'postpone', delayS: POSTPONED_S };
  return { kind: 'wait' };
}
