import { Controller, Get, Header, HttpException, HttpStatus } from '@nestjs/common';
import { Lifecycle } from '../lifecycle.js';
import { PromMetricsService } from '../prom-metrics.service.js';
import type { HealthCheck } from './dependency.js';
import { HealthService } from './health.service.js';

interface HealthAnswer {
  status: 'ok' | 'unavailable';
  checks: HealthCheck[];
}

/** For load balancers and container health checks; 200 or 503. */
@Controller()
export class HealthController {
  constructor(
    private readonly health: HealthService,
    private readonly lifecycle: Lifecycle,
    private readonly metrics: PromMetricsService,
  ) {}

  /** The loops turn: if not, only a restart helps. While starting and draining there are none that should. */
  @Get('health/live')
  live(): HealthAnswer {
    return answer(this.lifecycle.ready ? this.health.live() : []);
  }

  /** Started, not draining, and whatever the work needs of AWS is there and lets us in; within some seconds, whoever is silent. */
  @Get('health/ready')
  async ready(): Promise<HealthAnswer> {
    const started = { name: 'service', ok: this.lifecycle.ready, ...(this.lifecycle.ready ? {} : { reason: 'starting or draining' }) };
    return answer([started, ...(await this.health.dependencies())]);
  }

  @Get('metrics')
  @Header('content-type', 'text/plain; version=0.0.4; charset=utf-8')
  metricsText(): Promise<string> {
    return this.metrics.expose();
  }
}

function answer(checks: HealthCheck[]): HealthAnswer {
  if (checks.every((check) => check.ok)) return { status: 'ok', checks };
  throw new HttpException({ status: 'unavailable', checks } satisfies HealthAnswer, HttpStatus.SERVICE_UNAVAILABLE);
}
