import { Injectable } from '@nestjs/common';
import { windowSize, type WindowLimits } from '../domain/decide-send.js';
import { LiveCoordinatorsPort } from './live-coordinators.port.js';

/** How many batches of a job may be out, by what this process knows of the fleet and of the other jobs. Asking costs nothing. */
@Injectable()
export class JobWindowService {
  private activeJobs = 1;

  constructor(
    private readonly limits: WindowLimits,
    private readonly coordinators: LiveCoordinatorsPort,
  ) {}

  /** How many jobs are active, whoever looks after them. */
  noteActiveJobs(count: number): void {
    this.activeJobs = count;
  }

  get size(): number {
    return windowSize(this.limits, this.coordinators.list().length, this.activeJobs);
  }
}
