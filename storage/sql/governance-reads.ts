import type { AgentId, Instant, Origin } from '../../protocol/base/meanings.js';
import type { Asked } from '../../protocol/decide/reads.js';
import { peerOfOrigin } from '../../protocol/log/wire-operation.js';
import type { Standard } from '../../protocol/memory/standard-kind.js';
import { standardKind } from '../../protocol/memory/standard-kind.js';
import { POLICY_REFUSAL } from '../../protocol/policies/note-refusal.js';
import { pendingKind } from '../../protocol/policies/pending-kind.js';
import type { openPendings } from '../../protocol/policies/reads.js';
import type { Connection } from './connection.js';
import { DamagedRowError } from './damage.js';
import { FindRows, recordSource } from './kinds/find-rows.js';
import { type RecordTable, recordImageOf } from './kinds/record-table.js';
import { Statements } from './statements.js';

const STANDARDS = recordSource(standardKind);
const PENDINGS = recordSource(pendingKind);

/** So many parsed standards are kept. */
const KNOWN_MAX = 1_000;

/**
 * What decisions read about policies. Every command asks for the standards above its namespace, so one is parsed again only
 * when its text changes.
 */
export class GovernanceReads {
  private readonly texts: Statements;
  private readonly find: FindRows;
  private readonly known = new Map<string, { readonly payload: string; readonly standard: Standard }>();

  constructor(
    db: Connection,
    private readonly standardTable: RecordTable,
  ) {
    this.texts = new Statements(db);
    this.find = new FindRows(this.texts);
  }

  hasPolicies(): boolean {
    return this.find.any(STANDARDS);
  }

  /** Throws DamagedRowError for a standard that cannot be read, so a damaged policy refuses. */
  standards(namespaces: readonly string[]): readonly Standard[] {
    return namespaces.flatMap((namespace) => this.standard(namespace) ?? []);
  }

  private standard(namespace: string): Standard | null {
    const payload = this.standardTable.payloadOf(namespace);
    if (payload === null) return null;
    const before = this.known.get(namespace);
    if (before?.payload === payload) return before.standard;
    const standard = recordImageOf(standardKind, { payload }) as Standard | null;
    if (standard === null) throw new DamagedRowError(standardKind.name, namespace);
    if (this.known.size >= KNOWN_MAX) this.known.clear();
    this.known.set(namespace, { payload, standard });
    return standard;
  }

  /** Counts rows that the agent does not see as well. */
  holdsOthers(namespace: string, agentId: AgentId | null, now: string): boolean {
    const row = this.texts
      .get(
        `SELECT 1 FROM namespaces n JOIN memories m USING (ns_id)
         WHERE (n.name = @namespace OR n.name > @namespace || '/' AND n.name < @namespace || '0')
           AND m.owner_id IS NOT @agentId AND (m.expires_at IS NULL OR m.expires_at > @now) LIMIT 1`,
      )
      .get({ namespace, agentId, now });
    return row !== undefined;
  }

  refusalsNoted(agentId: AgentId, since: Instant): { readonly ofAgent: number; readonly ofNode: number } {
    return this.texts
      .get(
        `SELECT count(*) AS ofNode, count(*) FILTER (WHERE agent_id = @agentId) AS ofAgent FROM signed_events
         WHERE event_type = '${POLICY_REFUSAL}' AND timestamp >= @since`,
      )
      .get({ agentId, since }) as { ofAgent: number; ofNode: number };
  }

  /** Actions that this node took and that wait. What other nodes wrote does not count: it would use up an agent's own. */
  openPendings({ requestedBy, limit }: Asked<typeof openPendings>, origin: Origin): number {
    const own = peerOfOrigin(origin);
    const id = { from: `${own}/`, before: `${own}0` };
    return this.find.count(PENDINGS, { status: 'pending', owner_id: requestedBy, id }, limit);
  }
}
