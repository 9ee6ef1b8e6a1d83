import { Injectable } from '@nestjs/common';
import { windowSize, type WindowLimits } from '../domain/decide-send.js';
import { LiveCoordinatorsPort } from './live-coordinators.port.js';

/** How many batches of a job may be out, by what this process knows of the fleet and of the other jobs. Asking costs nothing. */
@Injectable()
export class JobWindowService {
  private downloadingJobs = 1;

  constructor(
    private readonly limits: WindowLimits,
    private readonly coordinators: LiveCoordinatorsPort,
  ) {}

  /** How many jobs have batches to run, whoever looks after them. */
  noteDownloadingJobs(count: number): void {
    this.downloadingJobs = count;
  }

  get size(): number {
    return windowSize(this.limits, this.coordinators.list().length, this.downloadingJobs);
  }
}
