import type { Log } from '../../protocol/base/seams.js';
import type { Store } from '../../storage/port.js';
import { VectorClient } from '../../storage/vectors/vector-client.js';
import { VectorsHere } from '../../storage/vectors/vectors-here.js';
import type { Settings } from '../config/settings.js';
import { systemClock, systemScheduler } from '../seams.js';
import type { Embedder } from '../semantics/embedder.js';
import { LocalSemantics } from '../semantics/local-semantics.js';
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
  /** True embeds and searches in this thread, for a process that has nothing else to do meanwhile. */
  readonly here: boolean;
}

/** Null in keyword mode, and for a database that no other thread can open. */
export function openSemantics(settings: Settings, store: Store, log: Log): Semantics | null {
  if (settings.embedBackend === 'none' || settings.dbPath === ':memory:') return null;
  const withVectors = (embedder: Embedder, here: boolean) => {
    const { model, dim } = embedder;
    const source = { place: placeOf(settings), model, dim };
    const timing = { clock: systemClock, scheduler: systemScheduler };
    const vectors = here ? new VectorsHere(source) : new VectorClient({ ...source, ...timing });
    return new LocalSemantics(embedder, vectors, store, systemClock);
  };
  const openLocal = ({
    batchRows = settings.embedBackfillBatch,
    plans = true,
    here = false,
  }: Partial<LocalOptions> = {}) => {
    const seams = { clock: systemClock, scheduler: systemScheduler, log, here };
    return new OwnedSemantics({
      store,
      log,
      batchRows,
      plans,
      asksNetwork: remoteTarget(settings) !== null,
      configured: () => openEmbedder(settings, seams),
      stored: (encoder) => openStoredEmbedder(settings, encoder, seams),
      withVectors: (embedder) => withVectors(embedder, here),
    });
  };
  return { role: new RoleSemantics(), openLocal };
}
