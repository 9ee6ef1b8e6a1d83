import { startLocalAws } from '../../../infra/local-aws/local-aws.js';

/** The embedded AWS as a process of its own: says `{ environment }`, and ends with its input. */
const HEARTBEAT_SECONDS = 600;
const aws = await startLocalAws({ stateMachine: { heartbeatSeconds: HEARTBEAT_SECONDS } });
process.stdout.write(`${JSON.stringify({ environment: aws.environment() })}\n`);
process.stdin.resume().once('end', () => void aws.close());
