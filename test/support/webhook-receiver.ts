import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createSecureContext, type SecureContext } from 'node:tls';
import { event } from './wait.js';

/** A request that a receiver got. */
export interface Got {
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: Record<string, unknown> & { readonly event: string; readonly correlation_id: string };
}

/** How a receiver answers a request; by default it acknowledges. */
export type Reply = (got: Got, response: ServerResponse, receiver: WebhookReceiver) => void | Promise<void>;

export const SECRET = 'a secret of the receiver';

export const acknowledge: Reply = ({ body }, response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ status: 'ack', correlation_id: body.correlation_id }));
};

/** The certificate of a receiver and its key, PEM. */
export interface ServerCertificate {
  readonly cert: string;
  readonly key: string;
}

/** A receiver of webhooks on loopback that keeps what it gets; with a certificate it speaks TLS. */
export class WebhookReceiver {
  readonly got: Got[] = [];
  /** The name that each client of TLS asked for; null for one that gave none. */
  readonly names: (string | null)[] = [];
  reply: Reply = acknowledge;
  certificate: ServerCertificate | null;
  readonly #server: ReturnType<typeof createServer | typeof createTlsServer>;

  private constructor(certificate: ServerCertificate | null) {
    this.certificate = certificate;
    const take = (request: IncomingMessage, response: ServerResponse) => this.#take(request, response);
    if (certificate === null) {
      this.#server = createServer(take);
      return;
    }
    // A client that gives no name gets the first certificate.
    this.#server = createTlsServer(
      { ...certificate, SNICallback: (name, done) => this.#chosen(name, done) },
      take,
    );
    this.#server.on('secureConnection', ({ servername }) => {
      if (servername === false) this.names.push(null);
    });
  }

  static async open(port = 0, certificate: ServerCertificate | null = null): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver(certificate);
    receiver.#server.listen(port, '127.0.0.1');
    await event('the receiver listens', receiver.#server, 'listening');
    return receiver;
  }

  #chosen(name: string, done: (error: null, context: SecureContext) => void): void {
    this.names.push(name);
    done(null, createSecureContext({ ...this.certificate! }));
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString('utf8');
    const got: Got = { headers: request.headers, text, body: JSON.parse(text) as Got['body'] };
    this.got.push(got);
    await this.reply(got, response, this);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/hook?from=test`;
  }

  /** The events by name, in the order of their first arrival, each once. */
  get events(): readonly string[] {
    return [...new Map(this.got.map(({ body }) => [body.correlation_id, body.event])).values()];
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    const closed = event('the receiver closes', this.#server, 'close');
    this.#server.close();
    await closed;
  }
}

/** What the signature header must be, computed as a receiver does. */
export function expectedSignature({ headers, text }: Got, secret = SECRET): string {
  const key = createHash('sha256').update(secret).digest();
  const timestamp = String(headers['x-svc-timestamp']);
  return `sha256=${createHmac('sha256', key).update(`${timestamp}.${text}`).digest('hex')}`;
}
