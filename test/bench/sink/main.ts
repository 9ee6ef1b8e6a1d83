import { Http1Server } from '../wire/http1-server.js';
import { S3Sink } from './s3-sink.js';

/** The sink as a process: says `{ url }`, and ends with its input. */
const server = await Http1Server.listen(new S3Sink().serve);
process.stdout.write(`${JSON.stringify({ url: server.url })}\n`);
process.stdin.resume().once('end', () => server.close());
