import type { Log } from '../../protocol/seams.js';
import type { Store } from '../../storage/port.js';
import { VectorClient } from '../../storage/vectors/vector-client.js';
import type { Settings } from '../config/settings.js';
import { SocketNames } from '../private-socket.js';
import { systemClock, systemCrypto, systemScheduler } from '../seams.js';
import { BuiltinEmbedder } from '../semantics/builtin-embedder.js';
import { LocalSemantics } from '../semantics/local-semantics.js';
import { RemoteSemantics } from '../semantics/owner-socket.js';
import { RoleSemantics } from '../semantics/role-semantics.js';

/** The semantic side of a process: its role, and how to open the local side when the process owns the database. */
export interface Semantics {
  readonly role: RoleSemantics;
  readonly openLocal: () => LocalSemantics;
  readonly sockets: SocketNames;
}

/** Null in keyword mode, and for a database that no other thread can open. */
export function openSemantics(settings: Settings, store: Store, log: Log): Semantics | null {
  if (settings.embedBackend === 'none' || settings.dbPath === ':memory:') return null;
  if (settings.embedBackend !== 'builtin') {
    // When the embedder cannot be built, the node only loses recall by meaning, not by words (interface §2.12).
    log.error(
      { code: 'EMBED_BACKEND_UNAVAILABLE', backend: settings.embedBackend },
      'this release has no such embedder; recall answers by keyword',
    );
    return null;
  }
  const sockets = new SocketNames('owner', settings.home, settings.dbPath, systemCrypto);
  const openLocal = () => {
    const embedder = new BuiltinEmbedder({ clock: systemClock, scheduler: systemScheduler, log });
    const vectors = new VectorClient({
      path: settings.dbPath,
      model: embedder.model,
      dim: embedder.dim,
      clock: systemClock,
      scheduler: systemScheduler,
    });
    return new LocalSemantics(embedder, vectors, store, systemClock);
  };
  const remote = new RemoteSemantics(sockets, store, systemClock, systemScheduler);
  return { role: new RoleSemantics(remote), openLocal, sockets };
}
