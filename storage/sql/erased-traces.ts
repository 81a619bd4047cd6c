import { jobKind } from '../../protocol/jobs/job-kind.js';
import { erasureKind } from '../../protocol/memory/erasure-kind.js';
import { announcedKind, deadLetterKind, outboxKind } from '../../protocol/webhooks/outbox.js';
import type { WebhookEvent } from '../../protocol/webhooks/webhook-event.js';
import type { Connection } from './connection.js';
import { forgetErased } from './recall-ledger.js';
import { Statements } from './statements.js';

/** The members of an event that say nothing of its memory but that there was one. */
const ENVELOPE = ['event', 'memory_id', 'namespace', 'agent_id', 'delivered_at', 'correlation_id'];

/** Takes what rows of this node only say of erased memories. */
export class ErasedTraces {
  private readonly statements: Statements;

  constructor(db: Connection) {
    this.statements = new Statements(db);
  }

  drop(ids: readonly string[]): void {
    const erased = new Set(ids);
    this.strip(announcedKind.table, 'seq', 'event', (event) => {
      const { memory_id, details } = event as unknown as WebhookEvent;
      return erased.has(memory_id) && Object.keys(details).length > 0 ? { ...event, details: {} } : null;
    });
    const bare = (body: Record<string, unknown>) => {
      const said = Object.entries(body).filter(([name]) => ENVELOPE.includes(name));
      const isWhole = said.length === Object.keys(body).length;
      return erased.has(String(body['memory_id'])) && !isWhole ? Object.fromEntries(said) : null;
    };
    this.strip(outboxKind.table, 'correlation_id', 'payload', bare);
    this.strip(deadLetterKind.table, 'id', 'payload', bare);
    this.dropJobs(ids);
    forgetErased(this.statements, { ids: erased, namespaces: this.namespacesOf(ids) });
  }

  private namespacesOf(ids: readonly string[]): string[] {
    return this.statements
      .get(
        `SELECT DISTINCT namespace FROM ${erasureKind.table}
         WHERE memory_id IN (SELECT value FROM json_each(?))`,
      )
      .pluck()
      .all(JSON.stringify(ids)) as string[];
  }

  /** Rewrites the events of a table that say more than `bare` leaves of them. */
  private strip(
    table: string,
    key: string,
    column: string,
    bare: (event: Record<string, unknown>) => object | null,
  ): void {
    const rows = this.statements.get(`SELECT ${key} AS id, ${column} AS said FROM ${table}`).all() as {
      readonly id: unknown;
      readonly said: string;
    }[];
    for (const { id, said } of rows) {
      const left = bare(JSON.parse(said) as Record<string, unknown>);
      if (left === null) continue;
      const write = this.statements.get(`UPDATE ${table} SET ${column} = ? WHERE ${key} = ?`);
      write.run(JSON.stringify(left), id);
    }
  }

  /** A run that is under way writes nothing more, because its job is gone. */
  private dropJobs(ids: readonly string[]): void {
    const rows = this.statements
      .get(
        `SELECT id, input || steps || coalesce(result, '') || coalesce(error, '') AS said FROM ${jobKind.table}`,
      )
      .all() as { readonly id: string; readonly said: string }[];
    const drop = this.statements.get(`DELETE FROM ${jobKind.table} WHERE id = ?`);
    for (const { id, said } of rows) if (ids.some((erased) => said.includes(erased))) drop.run(id);
  }
}
