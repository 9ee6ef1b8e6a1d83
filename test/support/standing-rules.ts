import type { LocalAws } from '../../infra/local-aws/local-aws.js';
import type { ExportService } from './export-service.js';

/** Stands in every query, header and body that a suite makes; no log may hold it. */
export const SECRET = 'n0t-f0r-l0gs';

/** What broke the rules that hold for every run: no Scan of what grows; no unconditional write; no token, body, header or query in a log. */
export function brokenRules(aws: LocalAws, services: readonly ExportService[], mayBeScanned: readonly string[] = []): string[] {
  const { log, stepFunctions, resources } = aws;
  // The coordinators are a handful, and each wants to know all of them.
  const scannable = [resources.coordinatorsTable, ...mayBeScanned];
  const scans = log.of('dynamodb', 'Scan').filter(({ resource = '' }) => !scannable.includes(resource));
  const unconditional = log
    .of('dynamodb')
    .filter(({ operation, detail }) => /^(Put|Update|Delete|BatchWrite|TransactWrite)Item/.test(operation) && detail?.condition !== true);
  const secrets = [SECRET, ...stepFunctions.tokens().map(({ token }) => token.slice(8, -6))];
  const telling = services.flatMap(({ lines }) => lines).filter((line) => secrets.some((secret) => line.includes(secret)));
  return [
    ...scans.map(({ resource }) => `${resource} was scanned`),
    ...unconditional.map(({ operation, resource }) => `${operation} of ${resource} has no condition`),
    ...telling.map((line) => `A log line tells a secret: ${line.slice(0, 300)}`),
  ];
}
