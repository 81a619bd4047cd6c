import type { SubjectId } from '../base/meanings.js';
import type { Crypto } from '../base/seams.js';
import type { Registry, Viewer } from '../base/viewer.js';
import type { UsedEnvelope } from '../log/used-envelope.js';
import type { Payload } from './payload.js';
import type { Dot, Facts, LiveVersion, RemovedVersion, Settled, Version } from './version.js';

/**
 * What an operation does to its subject: it makes a live version, it makes a removed version, or it purges the archived
 * copy, which makes no version.
 */
export type Role = 'image' | 'removal' | 'purge';

/** The kind and id of a subject, the thing that operations change. */
export interface Subject {
  readonly kind: string;
  readonly id: SubjectId;
}

/** Something that a subject is about: a memory, or the pending actions with an id. */
export interface About {
  readonly kind: 'memory' | 'pending';
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

/** What was found out about the author that a payload claims. */
export interface AuthorVerdict {
  /** False for a signature that is wrong. */
  readonly holds: boolean;
  /** The envelope that the author signed, where it could be presented again; it counts once in the mesh. */
  readonly envelope: UsedEnvelope | null;
}

/** The verdict on a payload that claims no author. */
export const NO_AUTHOR: AuthorVerdict = { holds: true, envelope: null };

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
 * A kind of thing that replicates (design: kinds). Replication, repair, scrub, retention, export and the simulator
 * follow this declaration.
 */
export interface Kind<I extends object = object> {
  readonly name: string;
  /** The words of its operations. A node parks operations whose words it does not know. */
  readonly words: Readonly<Record<string, Role>>;
  /** Words of operations that a caller asked for. The loser of two concurrent ones is listed as a conflict. */
  readonly contested: readonly string[];
  /** Words of operations that win against concurrent ones with other words, whichever is later. */
  readonly prevailing: readonly string[];
  /**
   * Words of removals for good: beside one no other version counts, also one that has seen it, and no node keeps what
   * other operations of the subject say. Their payload follows from their header.
   */
  readonly final: readonly string[];
  readonly payload: Payload<I>;
  /** The facts of a removal, in addition to the subject, its namespace and the reason. */
  readonly removal: Payload<Facts>;
  /** The id of an image's subject; null when only the operation's header names it. */
  idOf(image: I): string | null;
  /** The namespace that an image is about; null when the image does not name it. */
  namespaceOf(image: I): string | null;
  /** The namespace that the id of a subject is about; null when ids name no namespace. */
  namespaceOfId(id: string): string | null;
  /** What a subject is about that has a namespace of its own, by the id of the subject. */
  about(id: string): readonly About[];
  /** True for a kind whose subjects also decide about the namespaces below their own. */
  readonly governsBelow: boolean;
  /** True for a kind whose subjects are never removed. */
  readonly lasting: boolean;
  ownerOf(image: I): string | null;
  /**
   * The member that names the owner, which an import can set; null for a kind whose images name the owner in another
   * way.
   */
  readonly ownerMember: string | null;
  /** Members that hold the id of a memory. When an import merges a memory into another row, it updates them. */
  readonly memoryMembers: readonly string[];
  /** The edit that wrote the text of a version: the version with the later edit wins. */
  editOf(version: LiveVersion<I>): Dot;
  /**
   * Merges several live versions, of which `winner` has the latest edit, into one image. A function of the set of
   * versions.
   */
  merge(versions: readonly LiveVersion<I>[], winner: LiveVersion<I>): I;
  /** True when a removal ends a concurrent live version. */
  ends(by: RemovedVersion<I>, version: LiveVersion<I>): boolean;
  /** Adjusts the whole outcome, such as the number of its version. */
  settled(outcome: Settled<I>, versions: readonly Version<I>[]): Settled<I>;
  /** Who receives it: peers with the namespace in their scope, or every peer. */
  readonly reach: 'namespace' | 'everybody';
  /**
   * Who may write it: any node, only the node that its id names, or only the home of the subject. That node is the home
   * until another node adopts the subject (protocol/kinds/home.ts).
   */
  readonly writer: 'anybody' | 'maker' | 'home';
  /** Whether payloads that another version has superseded are dropped. */
  readonly superseded: 'dropped' | 'kept';
  /** True for a kind whose subjects may move to another namespace. */
  readonly movable: boolean;
  /** Verifies the author that a payload claims. Every receiver verifies it again. */
  author(payload: string, context: AuthorContext): AuthorVerdict;
  readonly exported: boolean;
  /** True for a kind of records that count for the storage bytes of their owner in their namespace, as memories do. */
  readonly charged: boolean;
  /** True for a kind that decides what agents may do or what they see; only imports that are trusted bring it in. */
  readonly decides: boolean;
  /** Whether a viewer may see a record; with the memories that it names when absent. */
  isVisible?(image: I, viewer: Viewer, isRegistered: Registry): boolean;
  readonly table: 'memories' | 'memory_links' | RecordTable;
}

/** The words of a kind that have a role. */
export function wordsOf(kind: Pick<Kind, 'words'>, ...roles: readonly Role[]): readonly string[] {
  return Object.entries(kind.words)
    .filter(([, role]) => roles.includes(role))
    .map(([word]) => word);
}
