import { latestOrNever, max, union } from '../../protocol/kinds/joins.js';
import { Kinds } from '../../protocol/kinds/kinds.js';
import { isCount, isText, isTextOrNull, isTexts, oneOf, type Rest } from '../../protocol/kinds/payload.js';
import { recordKind } from '../../protocol/kinds/record-kind.js';
import { KINDS } from '../../protocol/release.js';
import { recordFacts } from './kind-facts.js';

/** A record that no release has. */
export interface Sticker {
  readonly text: string;
  readonly tags: readonly string[];
  readonly score: number;
  readonly until: string | null;
  readonly colour: string;
  readonly rest: Rest;
}

/** A kind with a member of each sort: joined ones, one that came later, and an id that only the header names. */
export const stickerKindOf = (colours: readonly string[]) =>
  recordKind<Sticker>({
    name: 'sticker',
    members: {
      text: { accepts: isText, default: '' },
      tags: { accepts: isTexts, default: [] },
      score: { accepts: isCount, default: 0 },
      until: { accepts: isTextOrNull, default: null },
      colour: { accepts: oneOf(colours), default: 'plain', later: true },
    },
    idOf: () => null,
    namespaceOf: () => null,
    joins: { tags: union, score: max, until: latestOrNever },
    losers: 'listed',
    exported: true,
    indexes: [{ name: 'sticker_text', members: ['text'] }],
  });

export const stickerKind = stickerKindOf(['plain', 'red', 'blue']);

/** A sticker with the given members changed. */
export const aSticker = (fields: Partial<Sticker> = {}): Sticker => ({
  ...{ text: 'a text', tags: ['b', 'a'], score: 3, until: null, colour: 'plain', rest: {} },
  ...fields,
});

/** A record that only its home may change. */
export interface Lamp {
  readonly lit: string;
  readonly home_number?: number;
  readonly rest: Rest;
}

/** A kind whose subjects have a home. */
export const lampKind = recordKind<Lamp>({
  name: 'lamp',
  members: { lit: { accepts: oneOf(['on', 'off']), default: 'off' } } as never,
  idOf: () => null,
  namespaceOf: () => null,
  losers: 'dropped',
  writer: 'home',
  superseded: 'kept',
  exported: false,
});

const STICKER_FACTS = recordFacts(
  'sticker',
  { text: '', tags: [], score: 0, until: null },
  { later: { colour: 'plain' }, joins: { tags: 'union', score: 'greatest', until: 'latest or never' } },
);

/** The same for the audit, which takes nothing from the declarations. */
export const THROWAWAY_FACTS = [STICKER_FACTS, recordFacts('lamp', { lit: 'off' }, { home: true })];

/** What this release replicates, and two kinds more. */
export const MORE_KINDS = new Kinds([...KINDS.all, stickerKind, lampKind]);
