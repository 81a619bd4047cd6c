import type { LinkKey } from '../../protocol/decide/decision.js';
import { type Link, linkId } from '../../protocol/link.js';
import type { Connection } from './connection.js';
import type { Digests } from './digests.js';
import type { SubjectStamp } from './memory-rows.js';

/**
 * The rows of links. They stay when a memory at one of their ends goes, because replicas may learn of the two in any
 * order; reads show a link only between memories that live.
 */
export class LinkRows {
  private readonly put;
  private readonly state;
  private readonly remove;

  constructor(
    db: Connection,
    private readonly digests: Digests,
  ) {
    this.put = db.prepare(
      `INSERT OR REPLACE INTO memory_links (source_id, target_id, relation, created_at, valid_from, valid_until, observed_by,
         signature, attest_level, signed_at, namespace, hlc, origin, origin_seq, seen, digest)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.state = db.prepare<[string, string, string], { namespace: string; digest: Uint8Array | null }>(
      'SELECT namespace, digest FROM memory_links WHERE source_id = ? AND target_id = ? AND relation = ?',
    );
    this.remove = db.prepare(
      'DELETE FROM memory_links WHERE source_id = ? AND target_id = ? AND relation = ?',
    );
  }

  /** Takes away a link that no operation tells of. */
  drop({ source_id, target_id, relation }: LinkKey): void {
    const before = this.state.get(source_id, target_id, relation);
    this.remove.run(source_id, target_id, relation);
    if (before !== undefined) this.digests.leave(before.namespace, before.digest);
  }

  /** Writes a link; `payload` is the text of its post-image. */
  write(link: Link, namespace: string, payload: string, stamp: SubjectStamp): void {
    const before = this.state.get(link.source_id, link.target_id, link.relation);
    const digest = this.digests.of(linkId(link), payload);
    this.put.run(
      link.source_id,
      link.target_id,
      link.relation,
      link.created_at,
      link.valid_from,
      link.valid_until,
      link.observed_by,
      link.signature === null ? null : Buffer.from(link.signature, 'base64'),
      link.attest_level,
      link.signed_at,
      namespace,
      stamp.hlc,
      stamp.origin,
      stamp.origin_seq,
      JSON.stringify(stamp.seen),
      digest,
    );
    if (before !== undefined) this.digests.leave(before.namespace, before.digest);
    this.digests.join(namespace, digest);
  }
}
