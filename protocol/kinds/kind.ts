import type { Crypto } from '../seams.js';
import type { Payload } from './payload.js';
import type { Dot, Facts, LiveVersion, RemovedVersion, Settled, Version } from './version.js';

/**
 * What an operation is to its subject: a version in which it lives, one in which it is gone, or the purge of its archived
 * copy, which makes no version.
 */
export type Role = 'image' | 'removal' | 'purge';

/** A subject: a thing of some kind, by its id. */
export interface Subject {
  readonly kind: string;
  readonly id: string;
}

/** What a kind may use to verify the author of a payload. */
export interface AuthorContext {
  readonly crypto: Crypto;
  /** The bytes of a public key that is fit to sign; null for another text. */
  keyFromText(text: string): Uint8Array | null;
  /** The bytes of a signature; null for another text. */
  signatureFromText(text: string): Uint8Array | null;
}

/** A partial index over members of the records of one kind. */
export interface RecordIndex {
  readonly name: string;
  /** Members of the payload, in order. */
  readonly members: readonly string[];
}

/** The shared table, where the text of the payload is the row. */
export interface RecordTable {
  readonly indexes: readonly RecordIndex[];
}

/**
 * A kind of thing that replicates (design: kinds). Everything that replication, repair, scrub, retention, export and the
 * simulator do with it follows from this declaration.
 */
export interface Kind<I extends object = object> {
  readonly name: string;
  /** The words of its operations. A node parks operations with words that it does not know. */
  readonly words: Readonly<Record<string, Role>>;
  /** Words of requested operations. One that loses against a concurrent operation is listed as a conflict. */
  readonly contested: readonly string[];
  readonly payload: Payload<I>;
  /** The facts of a removal, besides the subject, its namespace and the reason. */
  readonly removal: Payload<Facts>;
  /** The id of the subject that an image is of; null where only the operation's header names it. */
  idOf(image: I): string | null;
  /** The namespace that an image names; null where only the operation's header names it. */
  namespaceOf(image: I): string | null;
  /** The namespace that the id of a subject names; null where an id names none. */
  namespaceOfId(id: string): string | null;
  ownerOf(image: I): string | null;
  /** The member that names the owner, where an import can set it; null for a kind whose images say it otherwise. */
  readonly ownerMember: string | null;
  /** Members that hold the id of a memory: an import follows a memory that became part of another row. */
  readonly memoryMembers: readonly string[];
  /** The edit that made the text of a version: of two versions the later edit stands. */
  editOf(version: LiveVersion<I>): Dot;
  /** Several live versions, of which `winner` is the latest edit, become one image. A function of the set of versions. */
  merge(versions: readonly LiveVersion<I>[], winner: LiveVersion<I>): I;
  /** True when a removal ends a concurrent live version. */
  ends(by: RemovedVersion<I>, version: LiveVersion<I>): boolean;
  /** What holds for an outcome as a whole, such as the number of its version. */
  settled(outcome: Settled<I>, versions: readonly Version<I>[]): Settled<I>;
  /** Who receives it: peers with the namespace in their scope, or every peer. */
  readonly reach: 'namespace' | 'everybody';
  /**
   * Who may write it: any node, only the node that its id names, or only the home of the subject, which is that node until
   * another one adopts it (protocol/kinds/home.ts).
   */
  readonly writer: 'anybody' | 'maker' | 'home';
  /** Whether payloads that another version has superseded are dropped. */
  readonly superseded: 'dropped' | 'kept';
  /** True for a kind whose subjects may move to another namespace. */
  readonly movable: boolean;
  /** True when a payload claims no author, or one whose signature holds. Every receiver asks again. */
  authorHolds(payload: string, author: AuthorContext): boolean;
  readonly exported: boolean;
  readonly table: 'memories' | 'memory_links' | RecordTable;
}

/** The words of a kind that have a role. */
export function wordsOf(kind: Pick<Kind, 'words'>, ...roles: readonly Role[]): readonly string[] {
  return Object.entries(kind.words)
    .filter(([, role]) => roles.includes(role))
    .map(([word]) => word);
}
