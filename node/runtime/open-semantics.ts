import { OWNER_SOCKET_TIMEOUT_MS, REMOTE_OWNER_SOCKET_TIMEOUT_MS } from '../../protocol/base/limits.js';
import type { Log } from '../../protocol/base/seams.js';
import type { Store } from '../../storage/port.js';
import { VectorClient } from '../../storage/vectors/vector-client.js';
import type { Settings } from '../config/settings.js';
import { SocketNames } from '../private-socket.js';
import { systemClock, systemCrypto, systemScheduler } from '../seams.js';
import type { Embedder } from '../semantics/embedder.js';
import { LocalSemantics, type Waits } from '../semantics/local-semantics.js';
import { openEmbedder, openStoredEmbedder, remoteTarget } from '../semantics/open-embedder.js';
import { OwnedSemantics } from '../semantics/owned-semantics.js';
import { RemoteSemantics } from '../semantics/owner-socket.js';
import { RoleSemantics } from '../semantics/role-semantics.js';

/** The semantic side of a process: its role, and how to open the local side when the process owns the database. */
export interface Semantics {
  readonly role: RoleSemantics;
  readonly openLocal: (options?: LocalOptions) => OwnedSemantics;
  readonly sockets: SocketNames;
}

export interface LocalOptions {
  /** Rows that the background embedding takes at a time; that of the settings when absent. */
  readonly batchRows: number;
  /** False leaves the encoders of the database as they are. */
  readonly plans: boolean;
  readonly waits?: Waits;
}

/** Null in keyword mode, and for a database that no other thread can open. */
export function openSemantics(settings: Settings, store: Store, log: Log): Semantics | null {
  if (settings.embedBackend === 'none' || settings.dbPath === ':memory:') return null;
  const sockets = new SocketNames('owner', settings.home, settings.dbPath, systemCrypto);
  const seams = { clock: systemClock, scheduler: systemScheduler, log };
  const withVectors = (embedder: Embedder, waits?: Waits) => {
    const { model, dim } = embedder;
    const path = settings.dbPath;
    const vectors = new VectorClient({ path, model, dim, clock: systemClock, scheduler: systemScheduler });
    return waits === undefined
      ? new LocalSemantics(embedder, vectors, store, systemClock)
      : new LocalSemantics(embedder, vectors, store, systemClock, waits);
  };
  const ofSettings = { batchRows: settings.embedBackfillBatch, plans: true };
  const openLocal = ({ batchRows, plans, waits }: LocalOptions = ofSettings) =>
    new OwnedSemantics({
      store,
      log,
      batchRows,
      plans,
      asksNetwork: remoteTarget(settings) !== null,
      configured: () => openEmbedder(settings, seams),
      stored: (encoder) => openStoredEmbedder(settings, encoder, seams),
      withVectors: (embedder) => withVectors(embedder, waits),
    });
  const remote = new RemoteSemantics(sockets, store, systemClock, systemScheduler, {
    // A question to a service on the network takes longer than one to a model on this machine.
    timeoutMs: settings.embedBackend === 'builtin' ? OWNER_SOCKET_TIMEOUT_MS : REMOTE_OWNER_SOCKET_TIMEOUT_MS,
  });
  return { role: new RoleSemantics(remote), openLocal, sockets };
}
