import { loadSettings, type SettingFlags } from '../../../node/config/load-settings.js';
import type { Settings } from '../../../node/config/settings.js';
import type { Connection } from '../../../storage/sql/connection.js';
import { onTestStore, openBeside } from '../../support/test-store.js';

/** Settings of a node under test; keyword mode, silent and permissive unless told otherwise. */
export const settingsFor = (home: string, changes: SettingFlags = {}): Settings =>
  onTestStore(
    loadSettings(
      { home, port: 0, embedBackend: 'none', requireAttestation: false, logLevel: 'silent', ...changes },
      { env: {} },
    ),
  );

interface OwnerRow {
  readonly holder: string;
  readonly role: string;
  readonly fencing: number;
  readonly expires_at_ms: number;
}

/** Reads and changes the database beside the nodes that use it. */
export class BesideDatabase {
  private readonly db: Connection;

  constructor(home: string) {
    this.db = openBeside({ home });
  }

  owner(): OwnerRow | null {
    return (this.db.prepare('SELECT * FROM database_owner').get() as OwnerRow | undefined) ?? null;
  }

  /** Who owns the database and what role that is; null when nobody does. */
  livingRole(): string | null {
    const owner = this.owner();
    return owner !== null && owner.expires_at_ms > Date.now() ? owner.role : null;
  }

  count(table: string, id: string): number {
    return (this.db.prepare(`SELECT count(*) AS n FROM ${table} WHERE id = ?`).get(id) as { n: number }).n;
  }

  rows(table: string): number {
    return (this.db.prepare(`SELECT count(*) AS n FROM ${table}`).get() as { n: number }).n;
  }

  accessCount(id: string): number {
    const row = this.db.prepare('SELECT access_count AS n FROM memories WHERE id = ?').get(id);
    return (row as { n: number }).n;
  }

  close(): void {
    this.db.close();
  }
}

export interface Answered {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

/** Asks a daemon over HTTP. */
export async function ask(port: number, method: string, path: string, body?: unknown): Promise<Answered> {
  const response = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
    method,
    headers: { 'content-type': 'application/json', 'x-agent-id': 'ai:tester' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}
