import { LiveCoordinatorsPort } from '../application/live-coordinators.port.js';

/** A coordinator that knows of no other: it beats every job. Several of them beat each job several times, which harms nothing. */
export class SoleCoordinatorAdapter extends LiveCoordinatorsPort {
  constructor(readonly self: string) {
    super();
  }

  list(): readonly string[] {
    return [this.self];
  }

  someoneWorks(): boolean {
    return true;
  }
}
