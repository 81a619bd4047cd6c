import { systemCrypto } from '../../node/seams.js';
import type { Kind } from '../../protocol/kinds/kind.js';
import type { Kinds } from '../../protocol/kinds/kinds.js';
import type { Version } from '../../protocol/kinds/version.js';
import { EPOCH_KIND } from '../../protocol/mesh/epoch-notice.js';
import { CHAIN_GENESIS, headerHash } from '../../protocol/operation-log.js';
import { versionOf } from '../../protocol/replication/payloads.js';
import { joinVersions, outOfScopeVersion, settle } from '../../protocol/replication/versions.js';
import { includes, type VersionVector } from '../../protocol/version-vector.js';

/** A row of `operations`. */
export interface OperationRow {
  readonly commit_sequence: number;
  readonly origin: string;
  readonly origin_seq: number;
  readonly hlc: string;
  readonly kind: string;
  readonly namespace: string;
  readonly subject: string;
  readonly seen: string;
  readonly payload_hash: string;
  readonly prev_hash: string;
  readonly payload: string | null;
  readonly parked: string | null;
}

/** The maximal versions of a subject, by the log only. */
export interface ReplayedSubject {
  readonly kind: Kind;
  readonly id: string;
  readonly versions: readonly Version[];
}

/** A subject in maps. */
export const keyOf = (kind: string, id: string): string => `${kind}\n${id}`;

/** What a log says, operation by operation, and what is wrong with it. */
export class LogReplay {
  readonly problems: string[] = [];
  readonly subjects = new Map<string, ReplayedSubject>();
  /** What the archive must hold of a memory; null is nothing. */
  readonly archived = new Map<string, string | null>();
  readonly chains = new Map<string, { readonly seq: number; readonly head: string; readonly hlc: string }>();

  constructor(
    private readonly kinds: Kinds,
    private readonly own: string,
  ) {}

  take(row: OperationRow): void {
    // Numbers that were given twice begin where the two histories part, and mean nothing any more.
    if (row.parked === 'forked') return;
    const seen = this.chained(row);
    const { origin, origin_seq: seq, payload } = row;
    if (row.parked === 'elsewhere') {
      const kind = this.kinds.ofWord(row.kind)!.kind;
      this.join(kind, row.subject, outOfScopeVersion(kind, { ...row, seq, seen }));
      return;
    }
    if (row.parked !== null || payload === null || row.kind === EPOCH_KIND) return;
    const meaning = this.kinds.ofWord(row.kind);
    if (meaning === null) {
      this.problems.push(`${origin}/${seq} has an effect, and no kind knows its word ${row.kind}`);
      return;
    }
    if (meaning.role === 'note') {
      if (origin === this.own) this.archived.set(row.subject, null);
      else this.archived.delete(row.subject);
      return;
    }
    const version = versionOf(meaning.kind, meaning.role, { ...row, seq, seen, payload });
    if (version === null) this.problems.push(`the payload of ${origin}/${seq} is no ${row.kind}`);
    else this.settled(meaning.kind, row, version);
  }

  /** Follows the chain of the operation's origin; answers what it has seen. */
  private chained(row: OperationRow): VersionVector {
    const { origin, origin_seq: seq, payload } = row;
    const chain = this.chains.get(origin) ?? { seq: 0, head: CHAIN_GENESIS, hlc: '' };
    if (seq !== chain.seq + 1) this.problems.push(`gap in ${origin} before ${seq}`);
    if (row.prev_hash !== chain.head) this.problems.push(`broken chain at ${origin}/${seq}`);
    if (payload !== null && systemCrypto.sha256Hex(payload) !== row.payload_hash) {
      this.problems.push(`payload of ${origin}/${seq} does not match its hash`);
    }
    if (row.hlc <= chain.hlc) this.problems.push(`clock went back at ${origin}/${seq}`);
    const seen = JSON.parse(row.seen) as VersionVector;
    const header = { ...row, seq, seen, payloadHash: row.payload_hash, prevHash: row.prev_hash };
    this.chains.set(origin, { seq, head: headerHash(header, systemCrypto), hlc: row.hlc });
    return seen;
  }

  private settled(kind: Kind, row: OperationRow, version: Version): void {
    const before = this.subjects.get(keyOf(kind.name, row.subject))?.versions ?? [];
    // What a later version has seen comes too late to change anything.
    if (before.some(({ covers }) => includes(covers, row.origin, row.origin_seq))) return;
    const now = settle(kind, this.join(kind, row.subject, version));
    if (kind.table !== 'memories') return;
    // Beside a later removal an earlier one that comes after it changes nothing.
    if (now.image === null && now.removal.was !== version.removal?.was) return;
    const was = version.removal?.was ?? null;
    if (now.image !== null && row.kind === 'restore') this.archived.set(row.subject, null);
    else if (now.image === null && row.kind === 'archive' && was !== null) {
      this.archived.set(row.subject, kind.payload.text(was));
    }
    // Whether a copy was kept is each node's setting.
    else this.archived.delete(row.subject);
  }

  private join(kind: Kind, id: string, version: Version): readonly Version[] {
    const key = keyOf(kind.name, id);
    const versions = joinVersions(this.subjects.get(key)?.versions ?? [], [version]);
    this.subjects.set(key, { kind, id, versions });
    return versions;
  }
}
