import type { Link } from '../../protocol/link.js';

/** A row of `memory_links`. */
export interface LinkSqlRow extends Omit<Link, 'signature'> {
  readonly signature: Uint8Array | null;
  readonly namespace: string;
  readonly hlc: string;
  readonly origin: string;
  readonly origin_seq: number;
  readonly seen: string;
  readonly digest: Uint8Array | null;
}

/** What a disk made of a signature may be of any type; a text that no link has shows the damage. */
const base64Of = (signature: unknown): string =>
  signature instanceof Uint8Array ? Buffer.from(signature).toString('base64') : '';

/** The replicated columns of a link's row. */
export function linkFromSql(row: LinkSqlRow): Link {
  const { source_id, target_id, relation, created_at, valid_from, valid_until, observed_by } = row;
  const signature = row.signature === null ? null : base64Of(row.signature);
  const { attest_level, signed_at } = row;
  const times = { created_at, valid_from, valid_until };
  return { source_id, target_id, relation, ...times, observed_by, signature, attest_level, signed_at };
}
