import type { CurrentOwner, NamespaceIds } from '../../../protocol/maintenance/queries.js';
import type { Answers } from '../../../protocol/queries.js';
import type { QueryParts } from './query-parts.js';

/** The log position of this database. */
export function logPosition({ statements }: QueryParts): Answers['log-position'] {
  return statements
    .get(
      `SELECT peer_id AS peerId, db_epoch AS dbEpoch, commit_sequence AS commitSequence,
         origin_seq AS originSeq, chain_head AS chainHead FROM log_state WHERE singleton = 1`,
    )
    .get() as Answers['log-position'];
}

/** Looks up the numbers of interned namespaces. */
export function namespaceIds({ statements }: QueryParts, query: NamespaceIds): Answers['namespace-ids'] {
  const rows = statements
    .get('SELECT ns_id FROM namespaces WHERE name IN (SELECT value FROM json_each(@names))')
    .all({ names: JSON.stringify(query.names) }) as { ns_id: number }[];
  return { ids: rows.map((row) => row.ns_id) };
}

/** The owner of the database. */
export function currentOwner({ statements }: QueryParts, query: CurrentOwner): Answers['current-owner'] {
  const row = statements
    .get('SELECT holder FROM database_owner WHERE expires_at_ms > @now')
    .get({ now: query.nowMs }) as { holder: string } | undefined;
  return { holder: row?.holder ?? null };
}
