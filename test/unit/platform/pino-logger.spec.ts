import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { pino } from 'pino';
import { StoreError } from '../../../src/shared/index.js';
import { NestLogger, PinoLoggerService } from '../../../src/platform/pino-logger.service.js';
import { newClock, onEachClock } from '../../support/each-clock.js';

const SECRET = 'AAAAKgAAAAIAAAAA-secret';

let lines: Record<string, unknown>[];
beforeEach(() => {
  lines = [];
});
afterEach(() => {
  jest.restoreAllMocks();
});

/** A logger whose events arrive here instead of on standard output. */
function create(level = 'debug', clock = newClock()): PinoLoggerService {
  const service = PinoLoggerService.create({ level, coordinatorId: 'me' }, clock);
  const { [pino.symbols.streamSym]: stream } = service['logger'] as unknown as Record<symbol, { write(line: string): boolean }>;
  if (stream === undefined) throw new Error('pino has no stream');
  jest.spyOn(stream, 'write').mockImplementation((line) => {
    lines.push(JSON.parse(line) as Record<string, unknown>);
    return true;
  });
  return service;
}

describe('PinoLoggerService', () => {
  it('writes one JSON event a line, with level, instant and coordinator', () => {
    const logger = create();
    logger.info('Job accepted', { jobId: 'job-1' });
    logger.warn('second');
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatchObject({ level: 'info', msg: 'Job accepted', jobId: 'job-1', coordinatorId: 'me' });
    expect(Date.parse(String(lines[0]?.time))).not.toBeNaN();
  });

  it('leaves out what is under its level', () => {
    const logger = create('warn');
    for (const level of ['debug', 'info', 'warn', 'error'] as const) logger[level](level);
    expect(lines.map(({ level }) => level)).toEqual(['warn', 'error']);
  });

  it.each(['taskToken', 'token', 'headers', 'authorization', 'body', 'receiptHandle', 'cookie'])(
    'never shows the field %s, whoever passes it',
    (field) => {
      const logger = create();
      logger.info('at the top', { [field]: SECRET, jobId: 'job-1' });
      logger.error('one level down', { request: { [field]: { inner: SECRET } } });
      logger.child({ [field]: SECRET }).debug('in a child');
      expect(lines).toHaveLength(3);
      expect(JSON.stringify(lines)).not.toContain('secret');
      expect(lines[0]?.[field]).toBe('[redacted]');
    },
  );

  it('carries the fields of a child in each of its events', () => {
    create().child({ jobId: 'job-1' }).child({ batchNo: 3 }).info('Batch ended');
    expect(lines).toMatchObject([{ jobId: 'job-1', batchNo: 3, coordinatorId: 'me' }]);
  });
});

describe('NestLogger', () => {
  it('turns Nest’s own messages into events without secrets', () => {
    const nest = new NestLogger(create());
    nest.log('Starting', 'NestFactory');
    nest.warn(new Error('cannot reach https://origin.test/a?signature=secret'));
    nest.error(new Error('broken'), 'stack', 'ExceptionsHandler');
    expect(lines.map(({ level }) => level)).toEqual(['debug', 'warn', 'error']);
    expect(JSON.stringify(lines)).not.toContain('signature');
  });
});

onEachClock('calls that are made again', () => {
  const slow = (key: string) =>
    new StoreError({ bucket: 'exports', key, permission: 's3:PutObject' }, 'SlowDown', { mayPass: true, cause: new Error(SECRET) });

  it('are one line every 10 s and kind, which names the call and counts those that were held back', async () => {
    const clock = newClock();
    const logger = create('debug', clock);
    for (let batchNo = 0; batchNo < 110; batchNo++)
      logger.child({ batchNo }).retrying('a step of a batch', slow(`key-${batchNo}`), { jobId: 'job-1' });
    logger.retrying('the results of a job', new Error('another kind'));
    await clock.advance(9_900);
    logger.retrying('a step of a batch', slow('late'));
    await clock.advance(200);
    logger.retrying('a step of a batch', slow('later'), { jobId: 'job-2' });
    await clock.advance(10_100);
    logger.retrying('a step of a batch', slow('last'));
    const msg = 'S3 PutObject on exports failed (SlowDown); retrying';
    const during = 'a step of a batch';
    expect(lines).toMatchObject([
      { level: 'warn', msg, during, jobId: 'job-1', batchNo: 0, error: { service: 'S3', operation: 'PutObject', resource: 'exports' } },
      { level: 'error', msg: 'the results of a job failed (Error); retrying' },
      { msg, during, jobId: 'job-2', heldBack: 110 },
      { msg },
    ]);
    expect(lines.map(({ heldBack }) => heldBack)).toEqual([undefined, undefined, 110, undefined]);
  });

  it('are forgotten, the oldest first, when there are very many kinds', () => {
    const logger = create();
    for (let kind = 0; kind <= 200; kind++) logger.retrying(`kind ${kind}`, new Error('x'));
    lines = [];
    logger.retrying('kind 0', new Error('x'));
    logger.retrying('kind 200', new Error('x'));
    expect(lines).toMatchObject([{ during: 'kind 0' }]);
  });
});
