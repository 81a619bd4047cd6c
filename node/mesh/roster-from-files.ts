import { readFileSync } from 'node:fs';
import { publicKeyFromText } from '../../protocol/base/key-text.js';
import type { Clock, Log } from '../../protocol/base/seams.js';
import { publicKeyProblem } from '../../protocol/identity/ed25519-admission.js';
import { parseFingerprintList } from '../../protocol/peers/fingerprint-list.js';
import type { Peer, Roster } from '../../protocol/peers/peer.js';
import type { PeerScopes } from '../config/peer-scopes.js';
import { keyPaths } from '../identity/key-files.js';
import { listKeys } from '../identity/list-keys.js';
import { MACHINE_LABEL } from '../identity/machine-key.js';

export interface FileRosterOptions {
  readonly keyDir: string;
  /** The peers that may talk to this node; null where the operator lists no peer, so that every enrolled key counts. */
  readonly scopes: PeerScopes | null;
  /** Peers without a scope may read everything (SVC_FED_SYNC_TRUST_PEER). */
  readonly trustPulls: boolean;
  readonly clock: Clock;
  readonly log: Log;
}

/** Added or removed key files take effect after this time. */
const REREAD_MS = 2000;

/**
 * The peers that an operator has enrolled by hand (reference-federation §1.3): each `<peer_id>.pub` of the key folder
 * whose private key is not here, with its scope. `<peer_id>.fingerprints` may list the fingerprints of its certificates,
 * one a line. These peers have no address here; `--quorum-peers` gives it.
 */
export class FileRoster implements Roster {
  readonly #options: FileRosterOptions;
  readonly #listeners = new Set<() => void>();
  #peers: ReadonlyMap<string, Peer> = new Map();
  #readAtMs = Number.NEGATIVE_INFINITY;
  #seen = '[]';

  constructor(options: FileRosterOptions) {
    this.#options = options;
  }

  peers(): readonly Peer[] {
    this.#reread();
    return [...this.#peers.values()];
  }

  find(peerId: string): Peer | null {
    this.#reread();
    return this.#peers.get(peerId) ?? null;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #reread(): void {
    const now = this.#options.clock.monotonicMs();
    if (now - this.#readAtMs < REREAD_MS) return;
    this.#readAtMs = now;
    let rows: Peer[];
    try {
      rows = this.#read();
    } catch (error) {
      // A folder that cannot be read neither admits nor removes a peer.
      this.#options.log.error(
        { err: error },
        'the key folder cannot be read; the enrolled peers stay as they are',
      );
      return;
    }
    const seen = JSON.stringify(rows.map((peer) => ({ ...peer, publicKey: [...peer.publicKey] })));
    if (seen === this.#seen) return;
    this.#seen = seen;
    this.#peers = new Map(rows.map((peer) => [peer.peerId, peer]));
    for (const listener of this.#listeners) listener();
  }

  #read(): Peer[] {
    const { keyDir, scopes, trustPulls } = this.#options;
    return listKeys(keyDir).flatMap((row): Peer[] => {
      const listed = scopes?.get(row.agent_id);
      if (row.agent_id === MACHINE_LABEL || row.has_private || (scopes !== null && listed === undefined)) {
        return [];
      }
      const publicKey = row.public_key === null ? null : publicKeyFromText(row.public_key);
      const problem = publicKey === null ? row.problem : publicKeyProblem(publicKey);
      if (publicKey === null || problem !== null) {
        this.#options.log.warn({ peer_id: row.agent_id, problem }, 'the key of a peer cannot be used');
        return [];
      }
      return [
        {
          peerId: row.agent_id,
          url: null,
          publicKey,
          fingerprints: readFingerprints(keyPaths(keyDir, row.agent_id).publicPath),
          allowedNamespaces: listed?.allowedNamespaces ?? null,
          allowedSenderAgentIds: listed?.allowedSenderAgentIds ?? [],
          ...(listed === undefined && !trustPulls ? { pullDenied: true } : {}),
          state: 'member',
        },
      ];
    });
  }
}

/** The fingerprints next to a public key; empty where no file can be read as a list. */
function readFingerprints(publicPath: string): readonly string[] {
  let text: string;
  try {
    text = readFileSync(publicPath.replace(/\.pub$/, '.fingerprints'), 'utf8');
  } catch {
    return [];
  }
  const parsed = parseFingerprintList(text);
  return parsed.ok ? parsed.value : [];
}
