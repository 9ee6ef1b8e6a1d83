import { Semaphore } from '../../shared/index.js';
import type { ExpansionProgress } from './expansion-progress.js';
import { interrupted } from './interrupted.js';

/** Tells the job's row that the job waits in line. */
type Line = Pick<ExpansionProgress, 'whileInLine'>;

/*
 * A place is the right to work on a list: to parse what has come of it, to write its segments and
 * its rows. INTAKE_CONCURRENCY places bound the memory and the load of all expansions together.
 *
 * Nobody holds a place while waiting for a source: a list that drips, stalls or waits out a
 * Retry-After would keep it from the others. Nobody works for long in one go either: after each
 * chunk of a list, and after each group of segments, the place goes to whoever has waited longest.
 * So the places are shared by job, and a job waits for a unit of each of the others at most,
 * however long their lists are.
 */
export class ExpansionTurns {
  private readonly places: Semaphore;

  constructor(concurrency: number) {
    this.places = new Semaphore(concurrency);
  }

  /**
   * Runs `work` with a place. @throws AppError `EXPANSION_INTERRUPTED`, without running it, when
   * the signal is aborted before its turn
   */
  async run<T>(signal: AbortSignal, line: Line, work: (turn: ExpansionTurn) => Promise<T>): Promise<T> {
    const turn = new PlacedTurn(this.places, signal, line);
    try {
      await turn.begin();
      return await work(turn);
    } finally {
      turn.end();
    }
  }
}

/** One expansion's turn: it has a place, except while it waits. */
export abstract class ExpansionTurn {
  /**
   * Gives the place back for the time of a wait, and takes one again, at the end of the line,
   * before it goes on.
   */
  abstract whileWaiting<T>(wait: () => Promise<T>): Promise<T>;

  /**
   * Gives the place back in the same way, for a wait for something else of this process that others
   * have at the moment.
   */
  abstract whileInLine<T>(wait: () => Promise<T>): Promise<T>;

  /** Between two units of work: lets those in line go first. */
  yield(): Promise<void> {
    return this.whileWaiting(() => Promise.resolve());
  }
}

class PlacedTurn extends ExpansionTurn {
  private readonly over = new AbortController();
  private readonly signal: AbortSignal;
  private hasPlace = false;
  /**
   * Waits that are under way. A parser may read ahead, so that a wait begins while the former one's
   * place is still in line.
   */
  private waits = 0;

  constructor(
    private readonly places: Semaphore,
    signal: AbortSignal,
    private readonly line: Line,
  ) {
    super();
    this.signal = AbortSignal.any([signal, this.over.signal]);
  }

  begin(): Promise<void> {
    return this.take();
  }

  end(): void {
    this.over.abort();
    this.giveBack();
  }

  override async whileWaiting<T>(wait: () => Promise<T>): Promise<T> {
    this.waits++;
    this.giveBack();
    try {
      return await wait();
    } finally {
      this.waits--;
      await this.take();
    }
  }

  override whileInLine<T>(wait: () => Promise<T>): Promise<T> {
    return this.whileWaiting(() => this.line.whileInLine(wait()));
  }

  private async take(): Promise<void> {
    if (this.hasPlace || this.waits > 0) return;
    if (!(await this.line.whileInLine(this.places.take(this.signal)))) throw interrupted();
    // The turn may have ended between the grant and this line: nobody else would give the place back.
    if (this.signal.aborted) {
      this.places.release();
      throw interrupted();
    }
    // Another wait of this turn began, or got its place, while this one stood in line.
    if (this.hasPlace || this.waits > 0) this.places.release();
    else this.hasPlace = true;
  }

  private giveBack(): void {
    if (!this.hasPlace) return;
    this.hasPlace = false;
    this.places.release();
  }
}
