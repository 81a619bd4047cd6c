import type pg from 'pg';
import type { Clock, Crypto, Scheduler, Timer } from '../../protocol/base/seams.js';
import type { ServerLink } from './server-link.js';

export interface ServerPresenceParts {
  readonly url: string;
  /** The name of this process; null for one that only asks for others. */
  readonly holder: string | null;
  readonly crypto: Pick<Crypto, 'sha256Hex'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly scheduler: Pick<Scheduler, 'after'>;
}

/** Each commit of a writer tells those who listen to this. */
export const COMMITS = 'mnemesh_commits';
/** Who heard of no commit for this time looks by itself. */
const UNHEARD_MS = 1000;

/** The first key of the locks of processes. */
export const LOCKS = 0x6d6e706c;
/** How often a process shows that it lives. */
const BEAT_MS = 150;
/** A process counts itself as seen for this time after it began its last beat that was answered. */
const SEEN_MS = 550;
/** After this time without a beat, by the clock of the server, another process may end its session. */
const SILENT_MS = 700;
/** How long it waits for that end. */
const END_WAIT_MS = 200;

const TAKE = 'SELECT pg_try_advisory_lock($1, $2) AS taken';
/** A lost session of this process, which the server still counts. */
const END_EARLIER = `SELECT pg_terminate_backend(pid) FROM pg_locks
  WHERE locktype = 'advisory' AND classid = $1::bigint::oid AND objid = $2::bigint::oid AND objsubid = 2 AND pid <> pg_backend_pid()
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
/** A session of another role shows no times: it counts as living until the server ends it. */
const LOOK = `SELECT l.pid, coalesce(s.state = 'idle' AND s.state_change < clock_timestamp() - $3 * interval '1 millisecond', FALSE) AS silent
  FROM pg_locks l LEFT JOIN pg_stat_activity s ON s.pid = l.pid
  WHERE l.locktype = 'advisory' AND l.classid = $1::bigint::oid AND l.objid = $2::bigint::oid AND l.objsubid = 2 AND l.granted
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
const END = 'SELECT pg_terminate_backend($1, $2) AS ended';

/**
 * The processes of a database on a server, wherever they are. Each holds a lock under its name on a session of its own, and the
 * server lets it go with the session: at once when the process ends. For a machine or a network that stops without a word, the
 * session shows beats; others end one that is silent, and a process that was silent counts itself as unseen before they may.
 */
export class ServerPresence {
  readonly lasts = true;
  readonly #parts: ServerPresenceParts;
  #link: ServerLink | null = null;
  /** The session with the lock. */
  #session: pg.Client | null = null;
  #number = 0;
  /** When the last beat that was answered began. */
  #beatMs = 0;
  #timer: Timer | null = null;
  #closed = false;
  /** The session that hears of commits; null while none does. */
  #listener: pg.Client | null = null;
  /** Rises with each commit that was heard. */
  #heard = 0;

  constructor(parts: ServerPresenceParts) {
    this.#parts = parts;
  }

  seen(): number | null {
    const isFresh = this.#parts.clock.monotonicMs() - this.#beatMs < SEEN_MS;
    return this.#session !== null && isFresh ? this.#number : null;
  }

  async appear(): Promise<boolean> {
    const { holder, clock } = this.#parts;
    if (holder === null) throw new Error('a process without a name cannot appear');
    if (this.#session !== null) return this.seen() !== null;
    try {
      const beganMs = clock.monotonicMs();
      const client = await this.#client();
      const key = this.#keyOf(holder);
      const [row] = await this.#ask(client, TAKE, [LOCKS, key]);
      if (row?.['taken'] !== true) {
        await this.#ask(client, END_EARLIER, [LOCKS, key]);
        return false;
      }
      if (this.#closed) return false;
      this.#begin(client, beganMs);
      return true;
    } catch {
      return false;
    }
  }

  /** False also where the server cannot be asked. */
  async hasEnded(holder: string): Promise<boolean> {
    try {
      const client = await this.#client();
      const [session] = await this.#ask(client, LOOK, [LOCKS, this.#keyOf(holder), SILENT_MS]);
      if (session === undefined) return true;
      if (session['silent'] !== true) return false;
      const [end] = await this.#ask(client, END, [session['pid'], END_WAIT_MS]);
      return end?.['ended'] === true;
    } catch {
      return false;
    }
  }

  /** What was committed is heard once others can read it. */
  reader(): () => boolean {
    const { clock } = this.#parts;
    let heard = -1;
    let lookedMs = 0;
    return () => {
      const nowMs = clock.monotonicMs();
      if (this.#listener !== null && heard === this.#heard && nowMs - lookedMs < UNHEARD_MS) return false;
      heard = this.#heard;
      lookedMs = nowMs;
      return true;
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#end();
    await this.#link?.close();
  }

  #begin(client: pg.Client, beganMs: number): void {
    this.#session = client;
    this.#number += 1;
    this.#beatMs = beganMs;
    client.once('end', () => {
      if (this.#session === client) this.#end();
    });
    this.#beatLater(client);
  }

  #end(): void {
    this.#session = null;
    this.#timer?.cancel();
    this.#timer = null;
  }

  #beatLater(client: pg.Client): void {
    this.#timer = this.#parts.scheduler.after(BEAT_MS, () => void this.#beat(client));
  }

  async #beat(client: pg.Client): Promise<void> {
    const beganMs = this.#parts.clock.monotonicMs();
    try {
      await this.#ask(client, 'SELECT 1', []);
    } catch {
      if (this.#session === client) this.#end();
      return;
    }
    if (this.#session !== client) return;
    this.#beatMs = beganMs;
    this.#beatLater(client);
  }

  async #client(): Promise<pg.Client> {
    if (this.#link === null) {
      const { clientFor, ServerLink } = await import('./server-link.js');
      this.#link ??= new ServerLink(
        () => clientFor(this.#parts, CONFIG),
        (client) => this.#listen(client),
      );
    }
    return this.#link.open();
  }

  async #listen(client: pg.Client): Promise<void> {
    if (this.#parts.holder === null) return;
    const lost = () => {
      if (this.#listener === client) this.#listener = null;
    };
    client.on('notification', () => {
      this.#heard += 1;
    });
    client.once('end', lost).once('error', lost);
    await client.query(`LISTEN ${COMMITS}`);
    // What was committed before it listened.
    this.#heard += 1;
    this.#listener = client;
  }

  /** A session that fails to answer is of no use: the server may have ended it. */
  async #ask(client: pg.Client, sql: string, values: readonly unknown[]): Promise<Record<string, unknown>[]> {
    try {
      return (await client.query(sql, [...values])).rows;
    } catch (error) {
      this.#link?.drop(client);
      throw error;
    }
  }

  #keyOf(holder: string): number {
    return Number.parseInt(this.#parts.crypto.sha256Hex(holder).slice(0, 8), 16) & 0x7fffffff;
  }
}

/** Longer than a beat is worth nobody waits for an answer. */
const CONFIG = { application_name: 'mnemesh presence', query_timeout: 2000, statement_timeout: 2000 };
