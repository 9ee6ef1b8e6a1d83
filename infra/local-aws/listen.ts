import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';

/**
 * Listens on the loopback address; port 0 takes any free one. Answers the base URL.
 * @throws Error with code `EADDRINUSE`
 */
export async function listen(server: Server, port = 0): Promise<string> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
