import pg from 'pg';
import type { PostgresPlace } from './messages.js';

/** Longer than this nobody waits for a server that does not answer. */
const CONNECT_TIMEOUT_MS = 3000;
/** A server that is gone without a word is noticed after about this time, where nothing is asked. */
const KEEP_ALIVE_MS = 10_000;
/** The server ends the sessions of a host that is gone without a word, and with them their locks. */
const SERVER_KEEP_ALIVE =
  '-c tcp_keepalives_idle=2 -c tcp_keepalives_interval=1 -c tcp_keepalives_count=3 -c tcp_user_timeout=5000';

/** Failures of an address at which nobody listens: they come at once. */
const AT_ONCE = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOENT']);

/** A connection that is not open yet. */
export function clientFor({ url }: Pick<PostgresPlace, 'url'>, config: pg.ClientConfig): pg.Client {
  const { options = '', ...more } = config;
  return new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    options: `${SERVER_KEEP_ALIVE} ${options}`.trim(),
    ...more,
  });
}

/**
 * One connection to the server, opened when it is asked for and again after it was lost. While a server does not answer at all,
 * nobody waits: an attempt goes on, and who asks meanwhile gets its last error.
 */
export class ServerLink {
  readonly #make: () => pg.Client;
  readonly #prepare: (client: pg.Client) => Promise<unknown>;
  #client: pg.Client | null = null;
  #opening: Promise<pg.Client> | null = null;
  #silence: Error | null = null;
  #closed = false;

  constructor(make: () => pg.Client, prepare: (client: pg.Client) => Promise<unknown> = async () => {}) {
    this.#make = make;
    this.#prepare = prepare;
  }

  /** The connection that is open; null where none is. */
  get current(): pg.Client | null {
    return this.#client;
  }

  open(): Promise<pg.Client> {
    if (this.#client !== null) return Promise.resolve(this.#client);
    if (this.#closed) return Promise.reject(new Error('the connection was closed'));
    if (this.#opening === null) {
      this.#opening = this.#connect();
      this.#opening.catch(() => {});
    }
    return this.#silence === null ? this.#opening : Promise.reject(this.#silence);
  }

  /** Ends a connection that is of no use any more: what was asked there gets no answer. */
  drop(client: pg.Client): void {
    this.#lose(client);
    (client as unknown as { connection: pg.Connection }).connection.stream.destroy();
  }

  /** Drops a connection whose server takes no other one either. */
  async look(): Promise<void> {
    const asked = this.#client;
    if (asked === null) return;
    const other = this.#make();
    other.on('error', () => {});
    try {
      await other.connect();
    } catch (error) {
      if (!(error instanceof pg.DatabaseError)) this.drop(asked);
    } finally {
      void other.end().catch(() => {});
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    const client = this.#client;
    this.#client = null;
    await client?.end().catch(() => {});
  }

  async #connect(): Promise<pg.Client> {
    const client = this.#make();
    const lose = () => this.#lose(client);
    client.on('error', lose);
    client.on('end', lose);
    try {
      await client.connect();
      await this.#prepare(client);
      this.#silence = null;
      if (this.#closed) throw new Error('the connection was closed');
      this.#client = client;
      return client;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      const isSilent = !(error instanceof pg.DatabaseError) && !AT_ONCE.has(code ?? '');
      this.#silence = isSilent ? (error as Error) : null;
      void client.end().catch(() => {});
      throw error;
    } finally {
      this.#opening = null;
    }
  }

  #lose(client: pg.Client): void {
    if (this.#client === client) this.#client = null;
  }
}
