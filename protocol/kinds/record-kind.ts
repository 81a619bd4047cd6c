import { HOME_NUMBER } from './home.js';
import { type Joins, mergeBy } from './joins.js';
import type { Kind, RecordIndex } from './kind.js';
import { isCount, type Members, payloadOf, type Rest } from './payload.js';
import { plain } from './plain.js';
import type { Facts } from './version.js';

/** The declaration of a record kind; defaults fill in the rest of the kind. */
export interface RecordKind<I extends object> {
  readonly name: string;
  readonly members: Members<I>;
  /** The id of the subject; null when only the operation's header names it. */
  readonly idOf: (image: I) => string | null;
  /**
   * The namespace that an image is about: an operation under another namespace has no effect. Null when the image does
   * not name it; then `namespaceOfId` or `about` says it, or only the header of the operation.
   */
  readonly namespaceOf: (image: I) => string | null;
  /** The namespace that the id is about, if it names one: operations under another namespace have no effect. */
  readonly namespaceOfId?: (id: string) => string | null;
  /** What a record is about, if that has a namespace of its own: a peer with a scope must hold it. */
  readonly about?: Kind['about'];
  /** True when a record also decides about the namespaces below its own: a peer with a scope must hold them. */
  readonly governsBelow?: boolean;
  /** True when a record is never removed. */
  readonly lasting?: boolean;
  /** The member that names the owner. */
  readonly owner?: keyof I & string;
  /** Members that hold the id of a memory. */
  readonly memories?: readonly (keyof I & string)[];
  /** Joins of members that do not follow the latest edit. */
  readonly joins?: Joins<I>;
  /** Whether losing versions are listed as conflicts. */
  readonly losers: 'listed' | 'dropped';
  readonly reach?: Kind['reach'];
  readonly writer?: Kind['writer'];
  readonly superseded?: Kind['superseded'];
  readonly author?: Kind['author'];
  readonly exported: boolean;
  /** True when a record counts for the storage bytes of its owner, until it is removed. */
  readonly charged?: boolean;
  readonly decides?: boolean;
  readonly indexes?: readonly RecordIndex[];
  /** Whether a viewer may see a record; with the memories that it names when absent, or else only who sees everything. */
  readonly isVisible?: NonNullable<Kind<I>['isVisible']>;
}

/** A kind whose subjects are rows of `records`, with the words `<name>.put` and `<name>.drop`. */
export function recordKind<I extends { readonly rest: Rest }>(declared: RecordKind<I>): Kind<I> {
  const { name, owner = null, joins = {} as Joins<I>, writer = 'anybody' } = declared;
  if ('kind' in declared.members) throw new Error(`kind "${name}" has a member "kind", which exports need`);
  const [put, drop] = [`${name}.put`, `${name}.drop`];
  // A version of a subject with a home holds the number of the home that wrote it.
  const number = { accepts: isCount, default: 0, later: true };
  const home = writer === 'home' ? { [HOME_NUMBER]: number } : {};
  const members = { ...declared.members, ...home } as unknown as Members<I>;
  const facts = home as unknown as Members<Facts>;
  return {
    ...plain<I>(),
    name,
    words: { [put]: 'image', [drop]: 'removal' },
    contested: declared.losers === 'listed' ? [put, drop] : [],
    payload: payloadOf(members),
    removal: payloadOf<Facts>(facts),
    idOf: declared.idOf,
    namespaceOf: declared.namespaceOf,
    ...(declared.namespaceOfId === undefined ? {} : { namespaceOfId: declared.namespaceOfId }),
    ...(declared.about === undefined ? {} : { about: declared.about }),
    governsBelow: declared.governsBelow ?? false,
    lasting: declared.lasting ?? false,
    ownerOf: (image) => (owner === null ? null : (image[owner] as string | null)),
    ownerMember: owner,
    memoryMembers: declared.memories ?? [],
    merge: mergeBy(joins),
    reach: declared.reach ?? 'namespace',
    writer,
    superseded: declared.superseded ?? 'dropped',
    ...(declared.author === undefined ? {} : { author: declared.author }),
    ...(declared.isVisible === undefined ? {} : { isVisible: declared.isVisible }),
    exported: declared.exported,
    charged: declared.charged ?? false,
    decides: declared.decides ?? false,
    table: { indexes: declared.indexes ?? [] },
  };
}
