import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule } from './app.module.js';
import { CONFIGURATION, ConfigurationError, EXIT_CONFIGURATION, serviceFacts, type Configuration } from './config/index.js';
import { AWS_UNUSABLE, captureLibraryOutput, Lifecycle, NestLogger, StandstillWatch } from './platform/index.js';
import { AppError, AppLogger, Clock, toLoggable } from './shared/index.js';

/**
 * Threads of libuv's pool, which files, zlib and `dns.lookup` share over all our threads. It has half of them at look-ups at most, and nothing ends one:
 * of its own four, two names whose resolver is silent would take all. They are made at the first use, 30 KiB each.
 */
const LIBUV_THREADS = '32';

/** Runs the service until a signal ends it. Exit codes: 0 after a shutdown, 1 when it could not start, 78 for its configuration or for what that names. */
export async function serve(): Promise<void> {
  process.env['UV_THREADPOOL_SIZE'] ??= LIBUV_THREADS;
  const app = await createOrExit();
  const logger = app.get(AppLogger);
  captureLibraryOutput(logger);
  app.useLogger(new NestLogger(logger));
  const configuration = app.get<Configuration>(CONFIGURATION);
  const { http } = configuration;
  const lifecycle = app.get(Lifecycle);
  lifecycle.register('http', {
    start: async () => {
      await app.listen(http.port, http.host);
      logger.info('HTTP server listening', { url: await app.getUrl() });
    },
    stop: () => app.close(),
  });
  const standstills = new StandstillWatch(app.get(Clock), logger);
  standstills.start();
  lifecycle.onClose(() => standstills.stop());
  lifecycle.handleSignals(process, (code) => process.exit(code));
  try {
    await lifecycle.start(serviceFacts(configuration));
  } catch (error) {
    logger.error('Service could not start', { error: toLoggable(error) });
    process.exit(error instanceof AppError && error.code === AWS_UNUSABLE ? EXIT_CONFIGURATION : 1);
  }
}

async function createOrExit(): Promise<NestFastifyApplication> {
  try {
    // HTTP stops last. A probe that is under way then would keep its connection, and with it the process, for a minute.
    const adapter = new FastifyAdapter({ forceCloseConnections: true });
    return await NestFactory.create<NestFastifyApplication>(AppModule, adapter, { logger: false, abortOnError: false });
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(EXIT_CONFIGURATION);
  }
}
