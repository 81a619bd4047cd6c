import { systemCrypto } from '../../node/seams.js';
import { CHAIN_GENESIS, headerHash } from '../../protocol/log/operation-log.js';
import type { Connection } from '../../storage/sql/connection.js';

/** A row of `operations`. */
export interface OperationRow {
  readonly commit_sequence: number;
  readonly origin: string;
  readonly origin_seq: number;
  readonly hlc: string;
  readonly kind: string;
  readonly namespace: string;
  readonly subject: string;
  readonly seen: string;
  readonly payload_hash: string;
  readonly prev_hash: string;
  readonly payload: string | null;
  readonly parked: string | null;
}

interface Chain {
  readonly seq: number;
  readonly head: string;
  readonly hlc: string;
}

/** Every sequence without a gap, every chain whole, and the heads of other origins where their chains end. */
export function auditChains(db: Connection, operations: readonly OperationRow[], own: string): string[] {
  const problems: string[] = [];
  const chains = new Map<string, Chain>();
  for (const [index, row] of operations.entries()) {
    if (row.commit_sequence !== index + 1) problems.push(`gap before commit ${row.commit_sequence}`);
    // Numbers that were given twice begin where the two histories part, and mean nothing any more.
    if (row.parked === 'forked') continue;
    const chain = chains.get(row.origin) ?? { seq: 0, head: CHAIN_GENESIS, hlc: '' };
    problems.push(...auditLink(chain, row));
    const { origin_seq: seq, payload_hash: payloadHash, prev_hash: prevHash, hlc } = row;
    const header = { ...row, seq, seen: JSON.parse(row.seen), payloadHash, prevHash };
    chains.set(row.origin, { seq, head: headerHash(header, systemCrypto), hlc });
  }
  const rows = db.prepare('SELECT origin, seq, head FROM origins').all() as (Chain & { origin: string })[];
  const known = new Map(rows.map((row) => [row.origin, row]));
  for (const [origin, chain] of chains) {
    const row = known.get(origin);
    if (origin !== own && (row?.seq !== chain.seq || row.head !== chain.head))
      problems.push(`origin ${origin} ends elsewhere`);
  }
  return problems;
}

/** What is wrong with an operation behind the end of its origin's chain. */
function auditLink(chain: Chain, row: OperationRow): string[] {
  const { origin, origin_seq: seq, payload } = row;
  const name = `${origin}/${seq}`;
  const problems: string[] = [];
  if (seq !== chain.seq + 1) problems.push(`gap in ${origin} before ${seq}`);
  if (row.prev_hash !== chain.head) problems.push(`broken chain at ${name}`);
  if (payload !== null && systemCrypto.sha256Hex(payload) !== row.payload_hash)
    problems.push(`payload of ${name} does not match its hash`);
  if (row.hlc <= chain.hlc) problems.push(`clock went back at ${name}`);
  return problems;
}
