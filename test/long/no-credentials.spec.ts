import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { startLocalAws, type LocalAws } from '../../infra/local-aws/local-aws.js';
import { CredentialsEndpoint } from '../support/credentials-endpoint.js';
import { ExportService } from '../support/export-service.js';

let aws: LocalAws;
let endpoint: CredentialsEndpoint;

beforeEach(async () => {
  aws = await startLocalAws();
  endpoint = await CredentialsEndpoint.start();
});
afterEach(async () => {
  await endpoint.close();
  await aws.close();
});

it('A start without credentials ends after half a minute, with the reason and no plain text, when their endpoint is silent', async () => {
  endpoint.silent = true;
  const service = ExportService.launch({ ...aws.environment(), ...endpoint.environment() });
  expect((await service.exited).code).toBe(1);
  expect(performance.now() - service.startedAt).toBeGreaterThan(29_000);
  const reason = { code: 'NO_CREDENTIALS', message: expect.stringContaining('has not answered for 10 s') as unknown };
  expect(service.events().find(({ msg }) => msg === 'Service could not start')).toMatchObject({ level: 'error', error: reason });
  expect(service.lines.filter((line) => !line.startsWith('{'))).toEqual([]);
});
