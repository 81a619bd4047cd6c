import { X509Certificate } from 'node:crypto';
import { Listeners } from '../../../actors/core/listeners.js';
import { BoundedMap } from '../../../protocol/base/bounded-map.js';
import type { Clock, Crypto, Log, Random, Scheduler } from '../../../protocol/base/seams.js';
import { StartRefusedError } from '../../../protocol/base/start-refused.js';
import type { CertificateRole, ClientGate, ListenerTls } from '../../http/listener-tls.js';
import { type CertificatePair, fingerprintOfPem } from '../tls/certificate-files.js';
import { isIssuedBy, peerOfCertificate } from './certificate.js';
import { Invites, inviteOf } from './invites.js';
import { type MeshFacts, MeshFolder } from './mesh-folder.js';
import { readNodePair } from './node-pair.js';
import { RosterFile, type Statements } from './roster-file.js';

/** A mesh as its folder describes it. */
export interface FormedMesh {
  readonly facts: MeshFacts;
  readonly roster: RosterFile;
  readonly statements: Statements;
  readonly pair: CertificatePair;
  /** Of this node's certificate, SHA-256 in lower-case hex. */
  readonly fingerprint: string;
  /** PEM. */
  readonly authority: string;
}

export interface StateSeams {
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly crypto: Crypto;
  readonly log: Log;
}

/** Most guest certificates whose invitation is remembered until they ask. */
const GUESTS_MAX = 1000;

/** What the mesh's folder says now, and what follows for connections. */
export class MeshState {
  readonly folder: MeshFolder;
  readonly invites: Invites;
  readonly #listeners = new Listeners();
  readonly #seams: StateSeams;
  /** Invitation by the certificate of the invited node. */
  readonly #guests = new BoundedMap<string, string>(GUESTS_MAX);
  /** Removed node by its certificate. */
  readonly #departed = new BoundedMap<string, string>(GUESTS_MAX);
  #formed: FormedMesh | null = null;

  constructor(home: string, seams: StateSeams) {
    this.folder = new MeshFolder(home);
    this.invites = new Invites(this.folder, seams);
    this.#seams = seams;
  }

  /** Null while the node belongs to no mesh. */
  get formed(): FormedMesh | null {
    return this.#formed;
  }

  /**
   * Reads the folder at the start. Throws StartRefusedError when it cannot be used: a member that served without its mesh
   * would take writes as a single node does.
   */
  open(): void {
    this.#formed = this.#read();
  }

  /** Reads the folder again. When it cannot be used, logs why and keeps the former state. */
  reload(): void {
    let next: FormedMesh | null;
    try {
      next = this.#read();
    } catch (error) {
      if (!(error instanceof StartRefusedError)) throw error;
      this.#seams.log.error(
        { code: 'MESH_FOLDER_REFUSED', reason: error.message },
        'the mesh folder cannot be used; the node continues with what it read before',
      );
      return;
    }
    if (next === null && this.#formed === null) return;
    this.#formed = next;
    this.#listeners.tell();
  }

  onChange(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  /** The invitation by which a guest has connected; null for other callers. */
  inviteOf(fingerprint: string | null): string | null {
    return fingerprint === null ? null : (this.#guests.get(fingerprint) ?? null);
  }

  /** The removed node that has connected with a certificate; null for other callers. */
  departedOf(fingerprint: string | null): string | null {
    return fingerprint === null ? null : (this.#departed.get(fingerprint) ?? null);
  }

  /** The member that a certificate belongs to, this node included; null for a certificate of no member. */
  memberOf(fingerprint: string | null): string | null {
    if (fingerprint === null) return null;
    // Also after its removal, when no statement lists it any more: its own commands ask with it.
    if (this.#formed?.fingerprint === fingerprint) return this.#formed.facts.peer_id;
    for (const { statement } of this.#formed?.statements.values() ?? []) {
      if (statement.state === 'member' && statement.fingerprints.includes(fingerprint))
        return statement.peer_id;
    }
    return null;
  }

  /** Transport security of the listener for peers: members of the roster, and guests. */
  listenerTls(): ListenerTls {
    const onChange = (listener: () => void) => this.onChange(listener);
    const current = () => {
      if (this.#formed === null)
        throw new Error('this node belongs to no mesh, so it has no listener for peers');
      return this.#formed.pair;
    };
    const clients: ClientGate = { roleOf: (der, fingerprint) => this.#roleOf(der, fingerprint), onChange };
    return { certificate: { current, onChange }, clients };
  }

  #roleOf(der: Uint8Array, fingerprint: string): CertificateRole {
    if (this.#formed === null) return null;
    const nowMs = this.#seams.clock.nowMs();
    let certificate: X509Certificate;
    try {
      certificate = new X509Certificate(Buffer.from(der));
      const authority = new X509Certificate(this.#formed.authority);
      const isIssued = isIssuedBy(certificate, authority, nowMs);
      if (this.memberOf(fingerprint) !== null) return isIssued ? 'peer' : null;
      // A removed node may connect to be told so; it can do nothing else.
      const peerId = isIssued ? peerOfCertificate(certificate) : null;
      if (peerId !== null && this.#formed.statements.get(peerId)?.statement.state === 'departed') {
        this.#departed.set(fingerprint, peerId);
        return 'guest';
      }
    } catch {
      return null;
    }
    const invite = this.folder.isAuthority ? inviteOf(certificate) : null;
    // A guest whose invitation was used or has expired may connect to be told so; it can do nothing else.
    if (invite === null || this.invites.find(invite) === null) return null;
    this.#guests.set(fingerprint, invite);
    return 'guest';
  }

  #read(): FormedMesh | null {
    const facts = this.folder.facts();
    if (facts === null) return null;
    const pair = readNodePair(this.folder);
    if (!pair.ok) {
      const fix = 'restore the folder from a copy, or join the mesh again';
      throw new StartRefusedError('CONFIG_INVALID', `${pair.error.message}: ${fix}`);
    }
    const roster = new RosterFile(this.folder, this.#seams);
    const statements = roster.read();
    // A member with an empty roster would count as a mesh of one.
    if (!statements.has(facts.peer_id)) {
      const path = this.folder.rosterPath;
      throw new StartRefusedError(
        'CONFIG_INVALID',
        `${path} does not name this node: copy it from another member`,
      );
    }
    return {
      facts,
      roster,
      statements,
      pair: pair.value,
      fingerprint: fingerprintOfPem(pair.value.cert),
      authority: this.folder.authorityCert(),
    };
  }
}
