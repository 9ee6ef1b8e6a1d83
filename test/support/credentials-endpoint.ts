import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Where a container has its credentials from. Each fetch gets keys of its own, which are the only ones that hold from then on. */
export class CredentialsEndpoint {
  fetches = 0;
  /** Takes the connection and says nothing. */
  silent = false;
  /** How long the keys say that they last. */
  lastsMs = 3_600_000;

  private constructor(private readonly server: Server) {
    server.on('request', (_request, response) => this.answer(response));
  }

  static async start(): Promise<CredentialsEndpoint> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new CredentialsEndpoint(server);
  }

  /** Of a service that has no other credentials. */
  environment(): Record<string, string> {
    const url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/credentials`;
    return { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '', AWS_CONTAINER_CREDENTIALS_FULL_URI: url };
  }

  get newestKeyId(): string {
    return `KEY${this.fetches}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private answer(response: ServerResponse): void {
    if (this.silent) return;
    this.fetches++;
    const { newestKeyId: AccessKeyId } = this;
    const Expiration = new Date(Date.now() + this.lastsMs).toISOString();
    response.writeHead(200).end(JSON.stringify({ AccessKeyId, SecretAccessKey: 'secret', Token: `token of ${AccessKeyId}`, Expiration }));
  }
}
