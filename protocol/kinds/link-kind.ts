import { type Link, linkId, RELATIONS } from '../graph/link.js';
import type { Kind } from './kind.js';
import { isBase64OrNull, isText, isTextOrNull, oneOf, payloadOf } from './payload.js';
import { NO_FACTS, plain } from './plain.js';

const text = { accepts: isText, default: '' };
/** The id of a link joins these with `|`. */
const end = { accepts: (value: unknown) => isText(value) && !value.includes('|'), default: '' };
const maybe = { accepts: isTextOrNull, default: null };

/** A relation between two memories. Its namespace is its source's namespace when it was made; its header names it. */
export const linkKind: Kind<Link> = {
  ...plain<Link>(),
  name: 'link',
  words: { link: 'image', 'link.drop': 'removal' },
  contested: ['link', 'link.drop'],
  payload: payloadOf<Link>({
    source_id: end,
    target_id: end,
    relation: { accepts: oneOf(RELATIONS), default: 'related_to' },
    created_at: text,
    valid_from: maybe,
    valid_until: maybe,
    observed_by: maybe,
    signature: { accepts: isBase64OrNull, default: null },
    attest_level: { accepts: isText, default: 'unsigned' },
    signed_at: maybe,
  }),
  removal: NO_FACTS,
  idOf: linkId,
  ownerOf: ({ observed_by }) => observed_by,
  superseded: 'dropped',
  exported: true,
  table: 'memory_links',
};

/** The image of a link as its operations carry it. */
export const linkPayload = (link: Link): string => linkKind.payload.text(link);
