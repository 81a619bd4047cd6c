import { type Reading, subjectRow } from '../decide/reads.js';
import type { Row } from '../decide/rows.js';
import { type Link, type LinkKey, linkId } from './link.js';
import { linkKind } from './link-kind.js';

/** The row of a link; null when there is none. */
export function* linkRow(key: LinkKey): Reading<Row<Link> | null> {
  return (yield* subjectRow({ kind: linkKind.name, id: linkId(key) })) as Row<Link> | null;
}
