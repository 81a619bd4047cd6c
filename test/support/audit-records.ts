import { POLICY_REFUSAL } from '../../protocol/policies/note-refusal.js';
import { openBeside } from './test-store.js';

/** The denials of schemas of tools that the audit chain of a home holds. */
export function schemaDenials(home: string): { readonly agentId: string; readonly families: string[] }[] {
  const db = openBeside({ home });
  try {
    const rows = db
      .prepare('SELECT agent_id, payload FROM signed_events WHERE event_type = ? ORDER BY sequence')
      .all(POLICY_REFUSAL) as { agent_id: string; payload: string }[];
    return rows
      .map(({ agent_id: agentId, payload }) => ({ agentId, ...JSON.parse(payload) }))
      .filter(({ op }) => op === 'include_schema');
  } finally {
    db.close();
  }
}
