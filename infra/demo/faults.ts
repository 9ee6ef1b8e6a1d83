import { SendTaskSuccessCommand } from '@aws-sdk/client-sfn';
import type { LocalAws } from '../local-aws/local-aws.js';
import type { DemoClients } from './demo-clients.js';

/** What the demo must notice; its tests ask for them one by one. */
export const FAULTS = ['flip-byte', 'suppress-heartbeat', 'second-answer'] as const;
export type Fault = (typeof FAULTS)[number];

export function faultEnvironment(fault: Fault | undefined): Record<string, string> {
  return fault === 'suppress-heartbeat' ? { STEP_FUNCTIONS_HEARTBEAT_ENABLED: 'false' } : {};
}

export function arrangeFault(fault: Fault | undefined, aws: LocalAws): void {
  if (fault === 'flip-byte') aws.s3.faults.add({ operation: 'PutObject', key: /\/reports\//, times: 1, action: { kind: 'flip-byte' } });
}

export async function faultAtTheEnd(fault: Fault | undefined, aws: LocalAws, clients: DemoClients): Promise<void> {
  if (fault !== 'second-answer') return;
  const [token] = aws.stepFunctions.tokens();
  // It is refused, of course: that it was tried is what the checks must see.
  await clients.states.send(new SendTaskSuccessCommand({ taskToken: token?.token, output: '{}' })).catch(() => undefined);
}
