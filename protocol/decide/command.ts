import type { MemoryId } from '../base/meanings.js';
import type { Viewer } from '../base/viewer.js';
import type { AuditEvent } from '../log/audit.js';
import type { Deciding, DecisionContext } from './deciding.js';
import type { GatedPlace } from './gate.js';
import type { Mutation } from './mutations.js';
import type { PermissionOp } from './permissions.js';
import type { Held, Proposal, Proposes } from './proposal.js';
import type { Requester } from './requester.js';
import type { Committed, Tells } from './told.js';
import type { Uses } from './used.js';

/** The members that every command has. Its feature declares the other members beside the rule. */
export interface AnyCommand {
  readonly kind: string;
  /** Who gives it; absent for a command of this node, and of a peer. */
  readonly viewer?: Viewer | undefined;
  /** The run of the job that gives it: the command does nothing unless that run is under way. */
  readonly job?: { readonly id: string; readonly run: string };
}

/** What policies and permission rules gate of a command. What they are asked follows from what it changes. */
export interface Gated<C> {
  /** The word of pending actions and of refusals. */
  readonly action: string;
  /** True for a command that itself says the text that it writes. */
  readonly saysText?: true;
  /** The memory that it is about; the one that it writes when absent. */
  readonly about?: (command: C) => MemoryId | null;
  /** An operation that permission rules know besides those of its changes. */
  readonly op?: PermissionOp;
  /** An additional gate that does not follow from the changes; `rows` are the memories that the rule read by id. */
  readonly also?: (
    command: C,
    changes: { readonly mutations: readonly Mutation[]; readonly rows: ReadonlyMap<MemoryId, never> },
  ) => readonly GatedPlace[];
  /** True for a command that only shows what it would do. */
  readonly previews?: (command: C) => boolean;
  /** The caller, where the command names it elsewhere than as `viewer`. */
  readonly viewer?: (command: C) => Viewer;
  /** For a command that cannot wait for an approval: what to do instead. */
  readonly instead?: string;
  /** What is shown of it while it waits for an approval; every gated command with a schema has it. */
  readonly proposes?: Proposes;
}

/** Why nothing gates a command. */
export type Ungated =
  /** It changes no live memory and no link: agents, quotas, subscriptions, archived copies, what a recall answered. */
  | 'no memory'
  /** It is governance itself, with checks of its own. */
  | 'governance'
  /** The operator imports, repairs or moves what is there. */
  | 'operator'
  /** The node does its own work. */
  | 'upkeep'
  /** It comes from another node, which has governed it. */
  | 'peer';

/** Rows that only commands write which say so: records of agents, messages, and memories in namespaces of the service. */
export type OwnRows = 'agents' | 'mail' | 'reserved';

export type SentCommand = Readonly<Record<string, unknown>>;

/** Reads a command that another node may have written: every member is looked at. Null for another shape. */
export type ReadCommand = (sent: SentCommand, by: Requester) => AnyCommand | null;

/** All that is true of a command. */
export interface DeclaredCommand<K extends string, C, T> {
  readonly kind: K;
  /** Its rule; what the rule answers is the answer of the command. */
  readonly decide: (command: C, context: DecisionContext) => Deciding<T>;
  readonly gate: Gated<C> | Ungated;
  /** Its schema; absent for a command that neither waits for an approval nor comes from another node. */
  readonly read?: ReadCommand;
  /** True for a command that other nodes pass on to the home of its subject. */
  readonly forwarded?: true;
  /** The bytes that it takes in a mailbox, where counting all of its members would take long; computed when absent. */
  readonly bytes?: (command: C) => number;
  /** The longest text that it writes, whose terms are found before its transaction. */
  readonly text?: (command: C) => string | null;
  /** What it writes into the audit chain when it removes memories. */
  readonly audit?: (command: C, removed: number) => AuditEvent;
  readonly writes?: readonly OwnRows[];
  /** What hooks hear after its commit, when a call gives it or when it waited for its approval. */
  readonly tells?: Tells<C, T>;
  /** The memories that it used, for the recalls that found them: which of their rows were worth something. */
  readonly uses?: (committed: Committed<C, T>) => Uses;
}

export type AnyDeclared = Omit<DeclaredCommand<string, never, unknown>, 'tells' | 'uses'> & {
  readonly tells?: Tells<never, never>;
  readonly uses?: (committed: Committed<never, never>) => Uses;
};

type KindOf<K> = AnyCommand & { readonly kind: K };

/** A gated command that can be read again can wait, so it says what it proposes. */
interface Waiting<C> {
  readonly gate: Gated<C> & { readonly proposes: Proposes };
  readonly read: ReadCommand;
}

interface NotWaiting<C> {
  readonly gate: Gated<C> & { readonly proposes?: never };
  readonly read?: never;
}

/** Declares a command beside its rule. */
export function defineCommand<const K extends string, C extends KindOf<K>, T>(
  declared: DeclaredCommand<K, C, T> & { readonly gate: Ungated },
): DeclaredCommand<K, C, T> & { readonly gate: Ungated };
export function defineCommand<const K extends string, C extends KindOf<K>, T>(
  declared: DeclaredCommand<K, C, T> & (Waiting<C> | NotWaiting<C>),
): DeclaredCommand<K, C, T> & { readonly gate: Gated<C> };
export function defineCommand<K extends string, C, T>(declared: DeclaredCommand<K, C, T>): object {
  return declared;
}

const gateOf = ({ gate }: AnyDeclared): Gated<never> | null => (typeof gate === 'string' ? null : gate);

/** What gates a command; null for one that nothing gates, and for a preview. */
export function gatedBy(declared: AnyDeclared, command: AnyCommand): Gated<never> | null {
  const gate = gateOf(declared);
  return gate?.previews?.(command as never) === true ? null : gate;
}

/** Who gives a command; null for one that has no caller. */
export const viewerOf = (declared: AnyDeclared, command: AnyCommand): Viewer | null =>
  gateOf(declared)?.viewer?.(command as never) ?? command.viewer ?? null;

/** What a command used that a call gives; the work of a job is not its caller's. */
export const usesOf = (declared: AnyDeclared, command: AnyCommand, outcome: object): Uses =>
  command.job === undefined
    ? (declared.uses?.({ command: command as never, outcome: outcome as never }) ?? [])
    : [];

export const mayWriteOwn = ({ writes = [] }: AnyDeclared, rows: OwnRows): boolean => writes.includes(rows);

/** True for a command that can wait for an approval: its schema reads it again when it is approved. */
export const canWait = ({ gate, read }: AnyDeclared): boolean =>
  typeof gate !== 'string' && read !== undefined;

/** What a message and the objects of a command take, in bytes. */
const OVERHEAD_BYTES = 1024;

/** What the id of a row takes in a list, and one read of a memory. */
export const ID_BYTES = 256;
export const TOUCH_BYTES = 128;

/** Two bytes a character, and as much again for the objects that hold them. */
export const textBytes = (content: string, metadata: object): number =>
  2 * content.length + 4 * JSON.stringify(metadata).length;

/** What operations of other nodes take. */
export const operationsBytes = (operations: readonly { readonly payload: string | null }[]): number =>
  operations.reduce((sum, { payload }) => sum + OVERHEAD_BYTES + textBytes(payload ?? '', {}), 0);

/** The bytes that a command takes in a mailbox. */
export const bytesOf = ({ bytes }: AnyDeclared, command: AnyCommand): number =>
  OVERHEAD_BYTES + (bytes === undefined ? sizeOf(command) : bytes(command as never));

/** The longest text that a command writes; null where it writes none. */
export const textOf = ({ text }: AnyDeclared, command: AnyCommand): string | null =>
  text?.(command as never) ?? null;

/** Two bytes a character, as much again for the names and objects that hold values, and eight for another value. */
export function sizeOf(value: unknown): number {
  if (typeof value === 'string') return 2 * value.length;
  if (value === null || typeof value !== 'object') return 8;
  if (ArrayBuffer.isView(value)) return value.byteLength;
  let sum = 16;
  for (const [name, member] of Object.entries(value)) sum += 2 * name.length + 2 * sizeOf(member);
  return sum;
}

/** A list of commands, with look-ups by kind. */
export class Commands {
  private readonly byKind: ReadonlyMap<string, AnyDeclared>;

  constructor(readonly all: readonly AnyDeclared[]) {
    this.byKind = new Map(all.map((declared) => [declared.kind, declared]));
    if (this.byKind.size < all.length) throw new Error('two commands share a kind');
  }

  named(kind: string): AnyDeclared | null {
    return this.byKind.get(kind) ?? null;
  }

  of({ kind }: Pick<AnyCommand, 'kind'>): AnyDeclared {
    const declared = this.byKind.get(kind);
    if (declared === undefined) throw new Error(`no rule decides the command "${kind}"`);
    return declared;
  }

  /** The word for what a command does; null for one that nothing gates, for a preview, and for one of another list. */
  actionOf(command: AnyCommand): string | null {
    const declared = this.named(command.kind);
    return declared === null ? null : (gatedBy(declared, command)?.action ?? null);
  }

  /** True for a command that only the home of its subject decides, and that others pass on to it. */
  isForwarded(kind: string): boolean {
    return this.named(kind)?.forwarded === true;
  }

  /** Reads a command that another node passed on to this one; null for another shape, and for any other kind. */
  readForwarded(sent: SentCommand): AnyCommand | null {
    const declared = this.named(String(sent['kind']));
    return declared?.forwarded === true ? (declared.read?.(sent, NOBODY) ?? null) : null;
  }

  /** What a command proposes that waits; null for one that this release cannot read. */
  proposalOf(held: Held): Proposal | null {
    const { kind } = held;
    const declared = typeof kind === 'string' ? this.named(kind) : null;
    return (declared === null ? null : gateOf(declared)?.proposes?.(held)) ?? null;
  }

  /** Reads a command that waited from the record of its action; null for another shape, and for any other kind. */
  readPutAside(sent: SentCommand, by: Requester): AnyCommand | null {
    const declared = this.named(String(sent['kind']));
    return declared !== null && canWait(declared) ? (declared.read?.(sent, by) ?? null) : null;
  }
}

/** The requester of a command that no agent requested. */
export const NOBODY: Requester = { requestedBy: '', writtenAs: null, isOwn: false };
