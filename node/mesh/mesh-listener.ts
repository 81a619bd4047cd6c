import type { Log, Scheduler, Timer } from '../../protocol/seams.js';
import type { HttpSurface } from '../http/server.js';

export interface MeshListenerParts {
  /** Where to listen now; null for nowhere. */
  readonly place: () => { readonly host: string; readonly port: number } | null;
  readonly open: () => HttpSurface;
  readonly scheduler: Scheduler;
  readonly log: Log;
}

const RETRY_MS = 5000;

/** The listener for peers, which follows the mesh's facts. A place that cannot be had is tried again, and said. */
export class MeshListener {
  readonly #parts: MeshListenerParts;
  #surface: HttpSurface | null = null;
  #at = '';
  #retry: Timer | null = null;
  #stopped = false;
  #turn: Promise<void> = Promise.resolve();
  problem: string | null = null;

  constructor(parts: MeshListenerParts) {
    this.#parts = parts;
  }

  get listening(): boolean {
    return this.#surface !== null;
  }

  /** Listens where the mesh says now. Never rejects. */
  follow(): Promise<void> {
    this.#turn = this.#turn.then(() => this.#follow());
    return this.#turn;
  }

  async drain(graceMs: number): Promise<void> {
    this.#stopped = true;
    this.#retry?.cancel();
    await this.#turn;
    await this.#surface?.drain(graceMs);
  }

  async close(): Promise<void> {
    this.#stopped = true;
    this.#retry?.cancel();
    await this.#turn;
    await this.#surface?.close();
    this.#surface = null;
  }

  async #follow(): Promise<void> {
    const { place, open, log, scheduler } = this.#parts;
    this.#retry?.cancel();
    if (this.#stopped) return;
    const wanted = place();
    const at = wanted === null ? '' : JSON.stringify(wanted);
    if (at === this.#at) return;
    await this.#surface?.close();
    this.#surface = null;
    this.#at = '';
    this.problem = null;
    if (wanted === null) return;
    const surface = open();
    try {
      await surface.listen(wanted.host, wanted.port);
      this.#surface = surface;
      this.#at = at;
      log.info({ ...wanted }, 'listening for peers');
    } catch (error) {
      this.problem = (error as Error).message;
      log.error({ err: error, ...wanted }, 'cannot listen for peers; trying again');
      await surface.close();
      this.#retry = scheduler.after(RETRY_MS, () => void this.follow());
    }
  }
}
