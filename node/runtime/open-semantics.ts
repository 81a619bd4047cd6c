import type { Log } from '../../protocol/base/seams.js';
import type { Store } from '../../storage/port.js';
import { VectorClient } from '../../storage/vectors/vector-client.js';
import type { Settings } from '../config/settings.js';
import { systemClock, systemScheduler } from '../seams.js';
import type { Embedder } from '../semantics/embedder.js';
import { LocalSemantics, type Waits } from '../semantics/local-semantics.js';
import { openEmbedder, openStoredEmbedder, remoteTarget } from '../semantics/open-embedder.js';
import { OwnedSemantics } from '../semantics/owned-semantics.js';
import { RoleSemantics } from '../semantics/role-semantics.js';
import { placeOf } from '../threads/open-database.js';

/** The semantic side of a process: its role, and how to open the local side when the process owns the database. */
export interface Semantics {
  readonly role: RoleSemantics;
  readonly openLocal: (options?: Partial<LocalOptions>) => OwnedSemantics;
}

export interface LocalOptions {
  /** Rows that the background embedding takes at a time; as many as the settings say when absent. */
  readonly batchRows: number;
  /** False leaves the encoders of the database as they are. */
  readonly plans: boolean;
  readonly waits: Waits;
}

/** Null in keyword mode, and for a database that no other thread can open. */
export function openSemantics(settings: Settings, store: Store, log: Log): Semantics | null {
  if (settings.embedBackend === 'none' || settings.dbPath === ':memory:') return null;
  const seams = { clock: systemClock, scheduler: systemScheduler, log };
  const withVectors = (embedder: Embedder, waits?: Waits) => {
    const { model, dim } = embedder;
    const place = placeOf(settings);
    const vectors = new VectorClient({ place, model, dim, clock: systemClock, scheduler: systemScheduler });
    return waits === undefined
      ? new LocalSemantics(embedder, vectors, store, systemClock)
      : new LocalSemantics(embedder, vectors, store, systemClock, waits);
  };
  const openLocal = ({
    batchRows = settings.embedBackfillBatch,
    plans = true,
    waits,
  }: Partial<LocalOptions> = {}) =>
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
  return { role: new RoleSemantics(), openLocal };
}
