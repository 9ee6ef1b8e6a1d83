import { Agent, request } from 'undici';
import { contentAt, piecesOf } from '../../origin/content.js';
import type { PlannedFile } from '../../transfers/transfer-plan.js';
import { BUCKET } from '../node-contender.js';
import { readOrders, sayDone, sayReadyAndWait } from '../node-side.js';

const { files, limits } = await readOrders();
const connections = limits.threads * limits.filesPerThread;
const dispatcher = new Agent({ connections, pipelining: 1 });
const sink = process.env['AWS_ENDPOINT_URL_S3'] ?? '';
await sayReadyAndWait();
const queue = files.values();
const failures: string[] = [];
await Promise.all(
  Array.from({ length: connections }, async () => {
    for (const file of queue) await put(file).catch((error: unknown) => void failures.push(`${file.key}: ${String(error)}`));
  }),
);
await dispatcher.close();
sayDone({ failures });
process.stdin.destroy();

/** What is no larger than a piece of the origin's block in one request, anything else in parts, one after the other. */
async function put({ key, url }: PlannedFile): Promise<void> {
  const content = contentAt(new URL(url).pathname);
  if (content === undefined) throw new Error('no file of the origin');
  const path = `/${BUCKET}/${key}`;
  if (content.sizeBytes <= limits.partBytes) return void (await send('PUT', path, Buffer.concat([...piecesOf(content)])));
  const created = await send('POST', `${path}?uploads`);
  const uploadId = /<UploadId>(.+)<\/UploadId>/.exec(created)?.[1];
  let partNumber = 0;
  for (const piece of piecesOf(content)) await send('PUT', `${path}?partNumber=${++partNumber}&uploadId=${uploadId}`, piece);
  await send('POST', `${path}?uploadId=${uploadId}`);
}

async function send(method: 'PUT' | 'POST', path: string, body?: Buffer): Promise<string> {
  const answer = await request(`${sink}${path}`, { method, dispatcher, ...(body !== undefined && { body }) });
  const text = await answer.body.text();
  if (answer.statusCode !== 200) throw new Error(`the sink answered ${answer.statusCode}`);
  return text;
}
