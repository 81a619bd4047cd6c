import { type Link, linkId, RELATIONS } from '../graph/link.js';
import { memoryIdProblem } from '../ids.js';
import { REPLICATED_WORD_BYTES_MAX } from '../limits.js';
import type { Kind } from './kind.js';
import { isBase64OrNull, isText, isTextOrNull, oneOf, payloadOf } from './payload.js';
import { NO_FACTS, plain } from './plain.js';
import { instant, orNull, textOf } from './replicated-value.js';

const WORD = textOf(REPLICATED_WORD_BYTES_MAX);
/** The id of a link joins these with `|`. */
const end = {
  accepts: (value: unknown) => isText(value) && !value.includes('|'),
  admits: (value: unknown) => isText(value) && memoryIdProblem(value) === null,
  default: '',
};
const maybe = { accepts: isTextOrNull, admits: orNull(WORD), default: null };

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
    created_at: { accepts: isText, admits: instant, default: '' },
    valid_from: maybe,
    valid_until: maybe,
    observed_by: maybe,
    signature: { accepts: isBase64OrNull, admits: orNull(WORD), default: null },
    attest_level: { accepts: isText, admits: WORD, default: 'unsigned' },
    signed_at: maybe,
    retired_at: { accepts: isTextOrNull, admits: orNull(instant), default: null, later: true },
    believed_until: { ...maybe, later: true },
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
