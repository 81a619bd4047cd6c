import type { Log } from '../../protocol/base/seams.js';
import { databaseName } from '../config/store-url.js';
import { LocalSurface } from '../local/local-surface.js';
import { OPERATIONS } from '../operations/registry.js';
import type { Services } from '../pipeline/call.js';
import { SocketNames } from '../private-socket.js';
import { systemScheduler } from '../seams.js';

/**
 * The socket at which a daemon, or the MCP server that owns the database, takes the calls of other local processes.
 * Without it they work on the database themselves.
 */
export class LocalSocket {
  private surface: LocalSurface | null = null;

  constructor(
    private readonly services: Services,
    /** The name of this process as an owner of the database. */
    private readonly holder: string,
    private readonly log: Log,
  ) {}

  async open(): Promise<void> {
    const { services, log } = this;
    const { home, dbPath } = services.settings;
    if (dbPath === ':memory:') return;
    const names = new SocketNames(home, databaseName(services.settings), services.crypto);
    try {
      await names.removeDead();
      this.surface = await LocalSurface.listen(names.pathOf(this.holder), {
        services,
        operations: OPERATIONS,
        log,
        scheduler: systemScheduler,
      });
    } catch (error) {
      log.warn({ err: error }, 'local processes cannot reach this one, and open the database themselves');
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
