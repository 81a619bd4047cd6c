import { encodeCborMap } from '../base/cbor.js';
import type { Link } from './link.js';

/** The bytes under the signature of a link: the six-key CBOR map of reference-federation §1.1. */
export function linkEnvelopeBytes(
  link: Pick<Link, 'source_id' | 'target_id' | 'relation' | 'observed_by' | 'valid_from' | 'valid_until'>,
): Uint8Array {
  return encodeCborMap({
    dst_id: link.target_id,
    observed_by: link.observed_by,
    relation: link.relation,
    src_id: link.source_id,
    valid_from: link.valid_from,
    valid_until: link.valid_until,
  });
}
