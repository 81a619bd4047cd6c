import type { Log, Scheduler, Timer } from '../../protocol/base/seams.js';
import type { ListenerTls } from '../http/listener-tls.js';
import type { PeerRoute } from '../http/peer-route.js';
import type { HttpSurface } from '../http/server.js';

/** Makes the surface that peers call. */
export type OpenSurface = (tls: ListenerTls, routes: readonly PeerRoute[]) => HttpSurface;

export interface MeshListenerParts {
  /** The address to listen on now; null for no listener. */
  readonly place: () => { readonly host: string; readonly port: number } | null;
  readonly tls: () => ListenerTls;
  readonly scheduler: Scheduler;
  readonly log: Log;
}

const RETRY_MS = 5000;

/**
 * The listener for peers, which follows the mesh's facts. When an address cannot be had it logs that and tries again.
 */
export class MeshListener {
  readonly #parts: MeshListenerParts;
  #open: ((tls: ListenerTls) => HttpSurface) | null = null;
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

  /** Listens where the mesh says, from now on. Never rejects. */
  start(open: OpenSurface, routes: readonly PeerRoute[]): Promise<void> {
    this.#open = (tls) => open(tls, routes);
    return this.follow();
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
    const { place, tls, log, scheduler } = this.#parts;
    const open = this.#open;
    this.#retry?.cancel();
    if (this.#stopped || open === null) return;
    const address = place();
    const at = address === null ? '' : JSON.stringify(address);
    if (at === this.#at) return;
    await this.#surface?.close();
    this.#surface = null;
    this.#at = '';
    this.problem = null;
    if (address === null) return;
    const surface = open(tls());
    try {
      await surface.listen(address.host, address.port);
      this.#surface = surface;
      this.#at = at;
      log.info({ ...address }, 'listening for peers');
    } catch (error) {
      this.problem = (error as Error).message;
      log.error({ err: error, ...address }, 'cannot listen for peers; trying again');
      await surface.close();
      this.#retry = scheduler.after(RETRY_MS, () => void this.follow());
    }
  }
}
