import { memoryIdProblem } from '../base/ids.js';
import { REPLICATED_EARLIER_PERIODS_MAX, REPLICATED_WORD_BYTES_MAX } from '../base/limits.js';
import { latestEdit } from '../kinds/joins.js';
import { type AuthorContext, type AuthorVerdict, type Kind, NO_AUTHOR } from '../kinds/kind.js';
import {
  isBase64OrNull,
  isObject,
  isText,
  isTextOrNull,
  oneOf,
  parsedObject,
  payloadOf,
} from '../kinds/payload.js';
import { NO_FACTS, plain } from '../kinds/plain.js';
import { instant, json, listOf, orNull, textOf } from '../kinds/replicated-value.js';
import { type EarlierPeriod, type Link, linkId, RELATIONS } from './link.js';
import { linkEnvelopeBytes } from './link-envelope.js';

const WORD = textOf(REPLICATED_WORD_BYTES_MAX);
/** The id of a link joins these with `|`. */
const end = {
  accepts: (value: unknown) => isText(value) && !value.includes('|'),
  admits: (value: unknown) => isText(value) && memoryIdProblem(value) === null,
  default: '',
};
const maybe = { accepts: isTextOrNull, admits: orNull(WORD), default: null };
const bytes = { accepts: isBase64OrNull, admits: orNull(WORD), default: null };

type Rule = (value: unknown) => boolean;
const PERIOD: { readonly [K in keyof EarlierPeriod]: readonly [accepts: Rule, admits: Rule] } = {
  created_at: [isText, instant],
  valid_from: [isTextOrNull, orNull(WORD)],
  valid_until: [isTextOrNull, orNull(WORD)],
  observed_by: [isTextOrNull, orNull(WORD)],
  believed_from: [isText, instant],
  believed_to: [isTextOrNull, orNull(instant)],
};
const periodWith = (rule: 0 | 1) => (value: unknown) =>
  isObject(value) && Object.entries(PERIOD).every(([key, rules]) => rules[rule](value[key]));
const isEarlierPeriod = periodWith(0);
const isAdmittedPeriod = (value: unknown) => periodWith(1)(value) && json(value);

/** A relation between two memories. Its namespace is its source's namespace when it was made; its header names it. */
export const linkKind: Kind<Link> = {
  ...plain<Link>(),
  name: 'link',
  words: { link: 'image', 'link.invalidate': 'image', 'link.drop': 'removal' },
  contested: ['link', 'link.invalidate', 'link.drop'],
  prevailing: ['link.invalidate'],
  payload: payloadOf<Link>({
    source_id: end,
    target_id: end,
    relation: { accepts: oneOf(RELATIONS), default: 'related_to' },
    created_at: { accepts: isText, admits: instant, default: '' },
    valid_from: maybe,
    valid_until: maybe,
    observed_by: maybe,
    signature: bytes,
    attest_level: { accepts: isText, admits: WORD, default: 'unsigned' },
    signed_at: maybe,
    public_key: { ...bytes, later: true },
    retired_at: { accepts: isTextOrNull, admits: orNull(instant), default: null, later: true },
    believed_until: { ...maybe, later: true },
    believed_from: { accepts: isTextOrNull, admits: orNull(instant), default: null, later: true },
    earlier: {
      accepts: (value) => Array.isArray(value) && value.every(isEarlierPeriod),
      admits: listOf(isAdmittedPeriod, REPLICATED_EARLIER_PERIODS_MAX),
      ...{ default: [], later: true },
    },
  }),
  removal: NO_FACTS,
  idOf: linkId,
  about: (id) =>
    id
      .split('|')
      .slice(0, 2)
      .map((end) => ({ kind: 'memory', id: end })),
  ownerOf: ({ observed_by }) => observed_by,
  // A node that did not know that the link ended cannot make it hold again.
  merge: (versions, winner) => {
    const ended = versions.filter(({ image }) => image.retired_at !== null);
    return (ended.length === 0 ? winner : latestEdit(linkKind, ended)).image;
  },
  superseded: 'dropped',
  author: verifySigner,
  exported: true,
  decides: false,
  table: 'memory_links',
};

/**
 * Verifies the signature of a link that names its key. A link without a key claims no author: its signature is worth
 * nothing (protocol/links/link-attestation.ts). The payload holds everything needed, so every node reaches the same
 * verdict.
 */
function verifySigner(
  payload: string,
  { crypto, keyFromText, signatureFromText }: AuthorContext,
): AuthorVerdict {
  // Parse only texts that can hold the member; JSON may spell it with escapes.
  if (!payload.includes('public_key') && !payload.includes('\\u')) return NO_AUTHOR;
  const link = linkKind.payload.parse(parsedObject(payload));
  if (link === null || link.public_key === null) return NO_AUTHOR;
  const publicKey = keyFromText(link.public_key);
  const signature = link.signature === null ? null : signatureFromText(link.signature);
  const holds =
    publicKey !== null && signature !== null && crypto.verify(publicKey, linkEnvelopeBytes(link), signature);
  return { holds, envelope: null };
}

/** The word of the operation that writes an image. */
export const linkWord = ({ retired_at }: Pick<Link, 'retired_at'>): 'link' | 'link.invalidate' =>
  retired_at === null ? 'link' : 'link.invalidate';
