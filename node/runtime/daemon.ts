import type { ChildStatus } from '../../actors/core/child.js';
import type { Supervisor } from '../../actors/core/supervisor.js';
import type { Settings } from '../config/settings.js';
import { createHttpSurface } from '../http/server.js';
import { type NodeLog, openLog } from '../observability/log-files.js';
import { OPERATIONS } from '../operations/registry.js';
import type { Examine } from '../pipeline/call.js';
import { type DaemonGround, type DaemonParts, openGround, openParts } from './daemon-parts.js';
import { startTree } from './daemon-tree.js';
import { refuseUnsafeOperatorKey } from './operator-key.js';
import { shutDown } from './shut-down.js';
import { refuseUnsafeListening, warnOfUntrustedAdmins } from './start-checks.js';

/** A running daemon. */
export interface Daemon {
  readonly address: { readonly host: string; readonly port: number };
  readonly settings: Settings;
  /** Resolves with the exit code when the node has ended: 0 after `stop`, 70 when storage kept failing. */
  readonly stopped: Promise<number>;
  /** Stops accepting, answers open requests, writes pending data, checkpoints. A second call is harmless. */
  stop(): Promise<void>;
  /** Reads the file of hooks again. */
  reloadHooks(): void;
  /** Children of the supervision tree, for tests and `doctor`. */
  children(): readonly ChildStatus[];
  /** Ends the writer thread without warning, as a crash would; for fault tests. */
  crashWriter(): void;
  /** The same for the reader threads. */
  crashReaders(): void;
}

const EXIT_START_FAILED = 1;
const EXIT_STORAGE = 70;

/** Starts a node: storage threads under supervision, maintenance, HTTP. Rejects when it cannot start. */
export async function startDaemon(settings: Settings, examine?: Examine): Promise<Daemon> {
  refuseUnsafeListening(settings);
  await refuseUnsafeOperatorKey(settings, true);
  const nodeLog = openLog(settings);
  warnOfUntrustedAdmins(settings, nodeLog.log);
  const parts = await openedParts(settings, nodeLog, examine);
  const life = new DaemonLife(parts, nodeLog);
  // Listens before anything is claimed: a start that fails on a taken port must not disturb the owner of the database.
  // Requests that arrive before the storage threads run wait for them.
  let address: Daemon['address'];
  try {
    address = await parts.http.listen(settings.host, settings.port);
  } catch (error) {
    await life.end(EXIT_START_FAILED);
    throw error;
  }
  const started = await life.startTree();
  if (!started.ok) {
    await life.end(EXIT_STORAGE);
    throw new Error(started.error.message);
  }
  parts.condition.isUp = true;
  await parts.local.open();
  await startMesh(parts);
  return {
    address,
    settings,
    stopped: life.ended,
    stop: () => life.end(0),
    reloadHooks: () => parts.hooks.reload(),
    children: () => parts.condition.children(),
    crashWriter: () => parts.storage.crashWriter(),
    crashReaders: () => parts.storage.crashReaders(),
  };
}

/** The parts of a daemon; a start that is refused closes the log. */
async function openedParts(settings: Settings, nodeLog: NodeLog, examine?: Examine): Promise<DaemonParts> {
  let ground: DaemonGround | null = null;
  try {
    ground = await openGround(settings, nodeLog.log);
    return openParts(ground, examine);
  } catch (error) {
    await ground?.telemetry.close();
    await nodeLog.close();
    throw error;
  }
}

function startMesh({ mesh, services, metrics }: DaemonParts): Promise<void> {
  const { upgrade } = mesh;
  return mesh.start((tls, peerRoutes) =>
    createHttpSurface({
      services,
      operations: OPERATIONS,
      metrics,
      peerRoutes,
      peersOnly: true,
      tls,
      upgrade,
    }),
  );
}

/** From the start of the supervision tree to the exit code. */
class DaemonLife {
  /** Resolves with the exit code. */
  readonly ended: Promise<number>;
  readonly #parts: DaemonParts;
  readonly #nodeLog: NodeLog;
  #exit!: (code: number) => void;
  #tree: Supervisor | null = null;
  #ending: Promise<void> | null = null;

  constructor(parts: DaemonParts, nodeLog: NodeLog) {
    this.#parts = parts;
    this.#nodeLog = nodeLog;
    this.ended = new Promise((resolve) => {
      this.#exit = resolve;
    });
  }

  /** Resolves when every child runs or is degraded. A tree that fails later ends the node. */
  startTree(): Supervisor['started'] {
    const tree = startTree(this.#parts);
    this.#tree = tree;
    void tree.stopped.then((reason) => {
      if (reason.kind !== 'failed') return;
      this.#parts.log.error({ err: reason.error }, 'the node cannot continue and ends');
      void this.end(EXIT_STORAGE);
    });
    return tree.started;
  }

  /** Shuts down once; the exit code of the first call counts. */
  end(code: number): Promise<void> {
    this.#ending ??= shutDown(this.#parts, this.#tree)
      .then(() => this.#nodeLog.close())
      .then(() => this.#exit(code));
    return this.#ending;
  }
}
