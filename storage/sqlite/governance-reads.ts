import { POLICY_REFUSAL } from '../../protocol/governance/note-refusal.js';
import type { Standard } from '../../protocol/kinds/standard-kind.js';
import { standardKind } from '../../protocol/kinds/standard-kind.js';
import type { AgentId, Instant } from '../../protocol/meanings.js';
import type { Viewer } from '../../protocol/ranking/types.js';
import type { Connection } from './connection.js';
import { DamagedRowError } from './damage.js';
import { memberSql, type RecordSqlRow, recordImageOf } from './kinds/record-table.js';
import { Statements } from './statements.js';
import { visibleRows } from './visibility.js';

/** What decisions read about policies. */
export class GovernanceReads {
  private readonly texts: Statements;

  constructor(db: Connection) {
    this.texts = new Statements(db);
  }

  hasPolicies(): boolean {
    return this.texts.get(`SELECT 1 FROM records WHERE kind = 'standard' LIMIT 1`).get() !== undefined;
  }

  /** Throws DamagedRowError for a standard that cannot be read, so a damaged policy refuses. */
  standards(namespaces: readonly string[]): readonly Standard[] {
    const rows = this.texts
      .get(
        `SELECT id, payload FROM records WHERE kind = 'standard' AND id IN (SELECT value FROM json_each(?))`,
      )
      .all(JSON.stringify(namespaces)) as (RecordSqlRow & { readonly id: string })[];
    return rows.map((row) => {
      const standard = recordImageOf(standardKind, row) as Standard | null;
      if (standard === null) throw new DamagedRowError(standardKind.name, row.id);
      return standard;
    });
  }

  holdsOthers(namespace: string, viewer: Viewer, now: string): boolean {
    const gate = visibleRows('m', viewer, now);
    const row = this.texts
      .get(
        `SELECT 1 FROM namespaces n JOIN memories m USING (ns_id)
         WHERE (n.name = @namespace OR n.name > @namespace || '/' AND n.name < @namespace || '0')
           AND m.owner_id IS NOT NULL AND m.owner_id IS NOT @agent AND ${gate.sql} LIMIT 1`,
      )
      .get({ ...gate.parameters, namespace, agent: viewer.agentId });
    return row !== undefined;
  }

  refusalsNoted(agentId: AgentId, since: Instant): { readonly ofAgent: number; readonly ofNode: number } {
    return this.texts
      .get(
        `SELECT count(*) AS ofNode, coalesce(sum(agent_id = @agentId), 0) AS ofAgent FROM signed_events
         WHERE event_type = '${POLICY_REFUSAL}' AND timestamp >= @since`,
      )
      .get({ agentId, since }) as { ofAgent: number; ofNode: number };
  }

  openPendings(requestedBy: AgentId | null, limit: number): number {
    return this.texts
      .get(
        `SELECT count(*) FROM (SELECT 1 FROM records WHERE kind = 'pending'
           AND ${memberSql('status')} = 'pending' AND owner_id IS ? LIMIT ?)`,
      )
      .pluck()
      .get(requestedBy, limit) as number;
  }
}
