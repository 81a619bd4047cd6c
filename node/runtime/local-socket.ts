import type { Log } from '../../protocol/base/seams.js';
import { LocalSurface } from '../local/local-surface.js';
import { OPERATIONS } from '../operations/registry.js';
import type { Services } from '../pipeline/call.js';
import { SocketNames } from '../private-socket.js';
import { systemScheduler } from '../seams.js';

/** The daemon's local socket, from its start to its end. Without it local processes work on the database themselves. */
export class LocalSocket {
  private surface: LocalSurface | null = null;

  constructor(
    private readonly services: Services,
    private readonly log: Log,
  ) {}

  async open(): Promise<void> {
    const { services, log } = this;
    const { home, dbPath } = services.settings;
    if (dbPath === ':memory:') return;
    const names = new SocketNames('daemon', home, dbPath, services.crypto);
    try {
      await names.removeDead();
      const path = names.pathOf(`${process.pid}:${services.random.uuid()}`);
      this.surface = await LocalSurface.listen(path, {
        services,
        operations: OPERATIONS,
        log,
        scheduler: systemScheduler,
      });
    } catch (error) {
      log.warn({ err: error }, 'local processes cannot reach this daemon, and open the database themselves');
    }
  }

  /** Answers the calls under way, for at most `graceMs`. */
  async drain(graceMs: number): Promise<void> {
    const done = this.surface?.drain() ?? Promise.resolve();
    await new Promise<void>((resolve) => {
      const timer = systemScheduler.after(graceMs, resolve);
      void done.then(() => {
        timer.cancel();
        resolve();
      });
    });
  }

  async close(): Promise<void> {
    await this.surface?.close();
  }
}
