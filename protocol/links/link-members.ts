import { exactly, imageOf, isId, type ReadMember } from '../decide/command-shape.js';
import { isObject, oneOf } from '../kinds/payload.js';
import type { Link, LinkKey } from './link.js';
import { RELATIONS } from './link.js';
import { linkKind } from './link-kind.js';

export const isLink: ReadMember<Link> = {
  read: (value) => (isObject(value) ? imageOf(linkKind, value) : undefined),
};

/** The members that identify a link, of a value that may be the whole link. */
export const linkKey: ReadMember<LinkKey> = {
  read: (value, by) => {
    if (!isObject(value)) return undefined;
    const { source_id, target_id, relation } = value;
    const key = { source_id, target_id, relation };
    const isKey = exactly({ source_id: isId, target_id: isId, relation: oneOf(RELATIONS) })(key, by);
    return isKey ? (key as LinkKey) : undefined;
  },
};
