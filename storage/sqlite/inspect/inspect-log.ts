import type { PeerId } from '../../../protocol/base/meanings.js';
import type { Crypto } from '../../../protocol/base/seams.js';
import { CHAIN_GENESIS, headerHash } from '../../../protocol/log/operation-log.js';
import type { Connection } from '../../sql/connection.js';
import { type OperationSqlRow, operationFromSql } from '../../sql/operation-rows.js';

/** The findings of a check of the operation log. */
export interface LogFacts {
  readonly peerId: PeerId;
  readonly commitSequence: number;
  /** The number of newest operations whose hashes were recomputed. */
  readonly checked: number;
  /** One line each, the first few. */
  readonly problems: readonly string[];
  /** Live rows without an operation. */
  readonly rowsWithoutOperation: number;
}

const CHECKED_MAX = 200_000;
const PROBLEMS_MAX = 5;

/** Recomputes the newest part of the operation log: sequences, payload hashes and the chain of each origin. */
export function inspectLog(db: Connection, crypto: Crypto): LogFacts {
  const state = db.prepare('SELECT peer_id, db_epoch, commit_sequence, chain_head FROM log_state').get() as {
    peer_id: string;
    db_epoch: string;
    commit_sequence: number;
    chain_head: string;
  };
  const problems: string[] = [];
  const chains = new Map<string, { seq: number; head: string }>();
  let checked = 0;
  let previous: number | null = null;
  const rows = db
    .prepare('SELECT * FROM operations WHERE commit_sequence > ? ORDER BY commit_sequence')
    .iterate(state.commit_sequence - CHECKED_MAX) as IterableIterator<OperationSqlRow>;
  for (const row of rows) {
    checked += 1;
    const id = `${row.origin}/${row.origin_seq}`;
    const note = (problem: string) => problems.length < PROBLEMS_MAX && problems.push(problem);
    if (previous !== null && row.commit_sequence !== previous + 1)
      note(`gap before commit ${row.commit_sequence}`);
    previous = row.commit_sequence;
    // A history that was moved aside belongs to no chain.
    if (row.parked === 'forked') continue;
    const chain = chains.get(row.origin);
    const expected = chain?.head ?? (row.origin_seq === 1 ? CHAIN_GENESIS : row.prev_hash);
    if (chain !== undefined && row.origin_seq !== chain.seq + 1) note(`gap before ${id}`);
    if (row.prev_hash !== expected) note(`broken chain at ${id}`);
    if (row.payload !== null && crypto.sha256Hex(row.payload) !== row.payload_hash) {
      note(`the payload of ${id} does not match its hash`);
    }
    chains.set(row.origin, { seq: row.origin_seq, head: headerHash(operationFromSql(row), crypto) });
  }
  if (checked > 0 && previous !== state.commit_sequence) {
    problems.push(`the log ends at ${previous}, its state says ${state.commit_sequence}`);
  }
  const own = chains.get(`${state.peer_id}/${state.db_epoch}`);
  if (own !== undefined && own.head !== state.chain_head)
    problems.push("the head of this node's chain does not match its last operation");
  const orphans = db
    .prepare(
      'SELECT count(*) AS n FROM memories m WHERE NOT EXISTS (SELECT 1 FROM operations o WHERE o.subject = m.id)',
    )
    .get() as { n: number };
  return {
    peerId: state.peer_id,
    commitSequence: state.commit_sequence,
    checked,
    problems,
    rowsWithoutOperation: orphans.n,
  };
}
