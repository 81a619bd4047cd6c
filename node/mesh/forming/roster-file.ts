import { createPublicKey, sign, verify, X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { publicKeyFromText } from '../../../protocol/base/key-text.js';
import { ROSTER_ENTRIES_MAX } from '../../../protocol/base/limits.js';
import { fail, ok, type Result } from '../../../protocol/base/result.js';
import type { Clock, Random, Scheduler } from '../../../protocol/base/seams.js';
import { StartRefusedError } from '../../../protocol/base/start-refused.js';
import { peerIdOf } from '../../../protocol/log/peer-id.js';
import {
  parseSignedStatement,
  type RosterStatement,
  type SignedStatement,
  statementBytes,
} from '../../../protocol/peers/roster-statement.js';
import { systemCrypto } from '../../seams.js';
import { fingerprintOfCertificate, type KeyAndCertificate } from './certificate.js';
import { withFileLock } from './file-lock.js';
import { type MeshFolder, parseJson } from './mesh-folder.js';

/** Statements by peer id. */
export type Statements = ReadonlyMap<string, SignedStatement>;

export interface RosterChange {
  /** Peers with a newer statement than before. */
  readonly changed: readonly string[];
  /** Refused statements, and why. Statements that are older than the known ones are not listed. */
  readonly refused: readonly { readonly peer_id: string; readonly reason: string }[];
}

export interface RosterSeams {
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly random: Random;
}

/** This node's copy of the mesh's roster: `peers.json`, one signed statement for each peer, departed ones included. */
export class RosterFile {
  readonly #folder: MeshFolder;
  readonly #seams: RosterSeams;
  readonly #authority: X509Certificate;
  readonly meshId: string;

  /** Throws StartRefusedError without a usable certificate of the authority. */
  constructor(folder: MeshFolder, seams: RosterSeams) {
    this.#folder = folder;
    this.#seams = seams;
    this.#authority = new X509Certificate(folder.authorityCert());
    this.meshId = fingerprintOfCertificate(this.#authority);
  }

  /** All statements with a valid signature. Throws StartRefusedError when the file is damaged. */
  read(): Statements {
    const path = this.#folder.rosterPath;
    if (!existsSync(path)) return new Map();
    const content = parseJson(this.#folder.read(path)) as { readonly statements?: unknown } | null;
    if (!Array.isArray(content?.statements)) {
      throw new StartRefusedError('CONFIG_INVALID', `${path} is damaged: copy it from another member`);
    }
    const known = new Map<string, SignedStatement>();
    for (const each of content.statements as readonly unknown[]) {
      const signed = parseSignedStatement(each);
      if (signed !== null && this.problemOf(signed) === null) known.set(signed.statement.peer_id, signed);
    }
    return known;
  }

  /** Takes statements that are newer than the known ones. */
  merge(statements: readonly unknown[]): Promise<RosterChange> {
    return this.#change((known) => this.#take(known, statements));
  }

  /**
   * Makes the authority state something new about a peer; `next` receives the known statement. Only on the node that
   * has the authority's key.
   */
  async state(
    authority: KeyAndCertificate,
    next: (known: Statements) => Result<Omit<RosterStatement, 'mesh_id' | 'serial'>>,
  ): Promise<Result<SignedStatement>> {
    let answer: Result<SignedStatement> = fail('INTERNAL', 'the roster did not make the statement');
    await this.#change((known) => {
      const facts = next(known);
      if (!facts.ok) {
        answer = facts;
        return { changed: [], refused: [] };
      }
      const before = known.get(facts.value.peer_id)?.statement.serial ?? 0;
      const statement = { ...facts.value, mesh_id: this.meshId, serial: before + 1 };
      const signature = sign('sha256', statementBytes(statement), authority.key).toString('base64');
      const signed = { statement, signature };
      const taken = this.#take(known, [signed]);
      const refusal = taken.refused[0];
      answer = refusal === undefined ? ok(signed) : fail('VALIDATION_FAILED', refusal.reason);
      return taken;
    });
    return answer;
  }

  /** Why a statement is not valid; null when it is. */
  problemOf({ statement, signature }: SignedStatement): string | null {
    if (statement.mesh_id !== this.meshId) return 'the statement belongs to another mesh';
    const key = publicKeyFromText(statement.public_key);
    if (key === null) return 'the public key in the statement cannot be read';
    if (peerIdOf(key, systemCrypto) !== statement.peer_id)
      return 'the peer id does not belong to the public key';
    const bytes = Buffer.from(signature, 'base64');
    return verify('sha256', statementBytes(statement), this.#authority.publicKey, bytes)
      ? null
      : 'the authority of this mesh did not sign the statement';
  }

  async #change(change: (known: Map<string, SignedStatement>) => RosterChange): Promise<RosterChange> {
    return withFileLock(this.#folder.lockPath, this.#seams, () => {
      const known = new Map(this.read());
      const made = change(known);
      if (made.changed.length > 0) {
        const sorted = [...known.values()].sort((one, other) =>
          one.statement.peer_id < other.statement.peer_id ? -1 : 1,
        );
        const text = `${JSON.stringify({ version: 1, statements: sorted }, null, 1)}\n`;
        this.#folder.write(this.#folder.rosterPath, text, this.#seams.random);
      }
      return made;
    });
  }

  #take(known: Map<string, SignedStatement>, statements: readonly unknown[]): RosterChange {
    const changed: string[] = [];
    const refused: { peer_id: string; reason: string }[] = [];
    for (const each of statements) {
      const signed = parseSignedStatement(each);
      if (signed === null) {
        refused.push({ peer_id: '', reason: 'the entry does not have the form of a statement' });
        continue;
      }
      const peerId = signed.statement.peer_id;
      const before = known.get(peerId);
      if (before !== undefined && before.statement.serial >= signed.statement.serial) continue;
      const problem =
        before === undefined && known.size >= ROSTER_ENTRIES_MAX
          ? 'the roster is full'
          : this.problemOf(signed);
      if (problem !== null) {
        refused.push({ peer_id: peerId, reason: problem });
        continue;
      }
      known.set(peerId, signed);
      changed.push(peerId);
    }
    return { changed, refused };
  }
}

/** True for an RSA public key in PEM of a usual size. */
export function isTlsPublicKey(pem: string): boolean {
  try {
    const key = createPublicKey(pem);
    const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
    return key.asymmetricKeyType === 'rsa' && bits >= 2048 && bits <= 4096;
  } catch {
    return false;
  }
}
