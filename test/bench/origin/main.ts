import { answerHead, Http1Server, type Connection } from '../wire/http1-server.js';
import { contentAt, etagOf, piecesOf } from './content.js';
import { manifestAt, manifestBytes, manifestPieces } from './manifest.js';

/** The origin as a process: argument: latency in ms. Says `{ url }`, and ends with its input. */
const latencyMs = Number(process.argv[2]);
/** A piece is the whole block at most: what is no larger goes out with the head. */
const ONE_WRITE_BYTES = 64 * 1024;

const server = await Http1Server.listen(({ method, target }, connection) => ({
  onBody: () => {},
  onEnd: () => void setTimeout(() => answer(method, target, connection), latencyMs),
}));
process.stdout.write(`${JSON.stringify({ url: server.url })}\n`);
process.stdin.resume().once('end', () => server.close());

function answer(method: string, target: string, connection: Connection): void {
  const manifest = manifestAt(target);
  if (method === 'GET' && manifest !== undefined) {
    connection.socket.write(answerHead('200 OK', { 'Content-Length': manifestBytes(manifest, server.url) }));
    return send(manifestPieces(manifest, server.url), connection);
  }
  const content = contentAt(target);
  if (method !== 'GET' || content === undefined) return connection.reply(answerHead('404 Not Found', { 'Content-Length': 0 }));
  const head = answerHead('200 OK', {
    'Content-Length': content.sizeBytes,
    'Content-Type': 'application/octet-stream',
    ETag: etagOf(content),
    'Last-Modified': 'Mon, 06 Jan 2025 10:00:00 GMT',
  });
  if (content.sizeBytes <= ONE_WRITE_BYTES) return connection.reply(head, Buffer.concat([...piecesOf(content)]));
  connection.socket.write(head);
  send(piecesOf(content), connection);
}

/** As fast as the client takes it. */
function send(pieces: Iterator<Buffer, void>, connection: Connection): void {
  const { socket } = connection;
  for (let next = pieces.next(); next.done !== true; next = pieces.next()) {
    if (socket.destroyed) return;
    if (socket.write(next.value)) continue;
    socket.once('drain', () => send(pieces, connection));
    return;
  }
  connection.finished();
}
