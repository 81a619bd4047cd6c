import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname } from 'node:path';
import { BatchWorker } from '../../actors/core/batch-worker.js';
import type { ChildStatus } from '../../actors/core/child.js';
import { type Supervisor, startSupervisor, supervisorChild } from '../../actors/core/supervisor.js';
import { loopChild } from '../../actors/maintenance/loop.js';
import { type StorageThread, storageThread } from '../../actors/storage/storage-thread.js';
import type { Command, OutcomeOf } from '../../protocol/commands.js';
import * as limits from '../../protocol/limits.js';
import { DamageWatch } from '../../storage/damage-watch.js';
import { makeFolder } from '../../storage/make-folder.js';
import type { TimedCommand } from '../../storage/port.js';
import { openReader } from '../../storage/sqlite/connection.js';
import { Reader } from '../../storage/sqlite/reader.js';
import { lifePolicyOf } from '../config/life-policy.js';
import { ConfigError } from '../config/load-settings.js';
import { quotaLimits } from '../config/quota-limits.js';
import type { Settings } from '../config/settings.js';
import { isLoopbackHost } from '../http/host-guard.js';
import { createHttpSurface } from '../http/server.js';
import { loadMachineIdentity } from '../identity/machine-key.js';
import { stderrLog } from '../log.js';
import { MeshNode } from '../mesh/mesh-node.js';
import { openListenerFiles } from '../mesh/tls/listener-files.js';
import { Metrics } from '../observability/metrics.js';
import { CATALOGUE, OPERATIONS } from '../operations/registry.js';
import type { Condition, Services } from '../pipeline/call.js';
import { systemClock, systemCrypto, systemRandom, systemScheduler } from '../seams.js';
import { NO_SEMANTICS } from '../semantic/no-semantics.js';
import { spawnStorageThread } from '../threads/spawn.js';
import { DatabaseDamage } from './database-damage.js';
import { openForWriting } from './open-for-writing.js';
import { openSemantics } from './open-semantics.js';
import { OwnerDuties } from './owner-duties.js';
import { BACKGROUND_POLICY, STORAGE_POLICY } from './policies.js';
import { servicesOf } from './services.js';
import {
  type Read,
  type ReaderQueue,
  type Reading,
  ThreadedStore,
  type WriterQueue,
} from './threaded-store.js';
import { DeferredTouches } from './touch-queue.js';

/** A running daemon. */
export interface Daemon {
  readonly address: { readonly host: string; readonly port: number };
  readonly settings: Settings;
  /** Resolves with the exit code when the node has ended: 0 after `stop`, 70 when storage could not be kept up. */
  readonly stopped: Promise<number>;
  /** Stops accepting, answers what is owed, writes what is pending, checkpoints. Calling again is harmless. */
  stop(): Promise<void>;
  /** Children of the supervision tree, for tests and `doctor`. */
  children(): readonly ChildStatus[];
  /** Ends the writer thread without warning, as a crash would; for fault tests. */
  crashWriter(): void;
  /** The same for the reader threads. */
  crashReaders(): void;
}

const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost']);
const EXIT_STORAGE = 70;

const GAUGES_INTERVAL_MS = 2000;
const READERS_MAX = 4;
const READER_BATCH_MESSAGES = 8;

/** Starts a node: storage threads under supervision, maintenance, HTTP. Rejects when it cannot start. */
export async function startDaemon(settings: Settings): Promise<Daemon> {
  if (!LOOPBACK.has(settings.host) && settings.apiKey === null && settings.mtlsAllowlist === null) {
    throw new ConfigError(
      `refusing to listen on ${settings.host} without an API key: set SVC_API_KEY, enforce --mtls-allowlist, or bind 127.0.0.1`,
    );
  }
  refuseOwnAddress(settings);
  const log = stderrLog(settings.logLevel);
  warnOfUntrustedAdmins(settings, log);
  makeFolder(settings.home);
  makeFolder(dirname(settings.dbPath));
  const identity = loadMachineIdentity(settings.keyDir, systemRandom);
  const seams = { clock: systemClock, scheduler: systemScheduler, random: systemRandom };
  const files = openListenerFiles(settings, { scheduler: systemScheduler, log });
  prepareDatabase(settings, identity.peerId);

  const metrics = new Metrics();
  let writerThread: StorageThread<TimedCommand, OutcomeOf<Command>> | null = null;
  const writer: WriterQueue = new BatchWorker({
    name: 'storage writer',
    ...seams,
    mailbox: { messagesMax: limits.WRITER_MAILBOX_MESSAGES_MAX, bytesMax: limits.WRITER_MAILBOX_BYTES_MAX },
    batchMessagesMax: limits.BATCH_COMMANDS_MAX,
    batchBytesMax: limits.BATCH_BYTES_MAX,
    onFault: (error) => {
      log.error({ err: error }, 'the storage writer broke its contract');
      writerThread?.kill();
    },
  });
  const readerThreads = new Set<StorageThread<Reading, Read>>();
  const readerCount = Math.min(READERS_MAX, Math.max(1, availableParallelism() - 1));
  const readers: ReaderQueue = new BatchWorker({
    name: 'storage reader',
    ...seams,
    mailbox: { messagesMax: limits.READER_MAILBOX_MESSAGES_MAX, bytesMax: limits.READER_MAILBOX_BYTES_MAX },
    batchMessagesMax: READER_BATCH_MESSAGES,
    batchBytesMax: limits.BATCH_BYTES_MAX,
    portsMax: readerCount,
    onFault: (error) => {
      log.error({ err: error }, 'a storage reader broke its contract');
      for (const thread of readerThreads) thread.kill();
    },
  });
  const threadData = {
    path: settings.dbPath,
    peerId: identity.peerId,
    keyDir: settings.keyDir,
    quota: quotaLimits(settings),
    synchronous: settings.synchronous,
  };
  const points = openReader(settings.dbPath, { mapped: false });
  const threads = new ThreadedStore(writer, readers, new Reader(points, systemCrypto), systemClock);
  const damage = new DatabaseDamage(log);
  const store = new DamageWatch(threads, systemClock, {
    suspected: () => mesh?.suspected(),
    corrupt: (message) => damage.found(message),
  });
  const touches = new DeferredTouches(store, systemScheduler, log, lifePolicyOf(settings));

  const semantic = openSemantics(settings, store, log);
  const duties = new OwnerDuties({
    store,
    role: 'daemon',
    holder: `daemon:${process.pid}:${systemRandom.uuid()}`,
    archive: settings.archiveOnGc,
    archiveMaxDays: settings.archiveMaxDays,
    embedBatch: settings.embedBackfillBatch,
    observationsTtlDays: settings.observationsTtlDays,
    ...seams,
    log,
    semantic,
  });

  let pendingEmbeddings: number | null = null;
  let touchesDropped = 0;
  const gauges = loopChild({
    id: 'gauges',
    policy: BACKGROUND_POLICY,
    ...seams,
    round: async () => {
      metrics.setWriterQueueDepth(writer.stats().queued);
      mesh?.gauge();
      metrics.touchesDropped(touches.dropped - touchesDropped);
      touchesDropped = touches.dropped;
      if (semantic !== null) {
        const progress = await store.query({ kind: 'embedding-progress' }, { lane: 'background' });
        if (progress.ok) {
          pendingEmbeddings = progress.value.pending;
          metrics.setPendingEmbedding(pendingEmbeddings);
        }
      }
      return { afterMs: GAUGES_INTERVAL_MS };
    },
  });
  let mesh: MeshNode | null = null;
  let storage: Supervisor | null = null;
  let supervisor: Supervisor | null = null;
  let isUp = false;
  const statuses = () => [...(supervisor?.children() ?? []), ...(storage?.children() ?? [])];
  const condition = (): Condition => ({
    ready:
      isUp && (storage?.children() ?? []).some((child) => child.id === 'writer' && child.state === 'running'),
    degraded: [
      ...damage.degraded(),
      ...statuses()
        .filter((child) => child.state === 'degraded' || child.state === 'backing-off')
        .map((child) => ({ part: child.id, reason: child.lastError ?? child.state })),
    ],
    pendingEmbeddings,
    ...(mesh === null ? {} : { federation: mesh.condition() }),
  });
  const own = servicesOf(identity, {
    store,
    semantic: semantic?.role ?? NO_SEMANTICS,
    touches,
    settings,
    log,
    catalogue: CATALOGUE,
    condition,
  });
  mesh = new MeshNode({
    services: own,
    signer: identity.key,
    ...seams,
    metrics,
    openSurface: (tls, peerRoutes) =>
      createHttpSurface({
        services,
        operations: OPERATIONS,
        metrics,
        peerRoutes,
        peersOnly: true,
        tls,
        upgrade: mesh?.upgrade ?? null,
      }),
  });
  const services: Services = { ...own, replication: mesh.replication() };
  const { routes } = mesh;
  const http = createHttpSurface({
    services,
    operations: OPERATIONS,
    metrics,
    inflightMax: settings.maxInflightRequests,
    peerRoutes: routes,
    tls: files.tls,
    upgrade: mesh.callsAtApi ? mesh.upgrade : null,
  });

  let stopping: Promise<void> | null = null;
  let exit!: (code: number) => void;
  const stopped = new Promise<number>((resolve) => {
    exit = resolve;
  });
  const shutDown = async (code: number): Promise<void> => {
    const deadlineMs = systemClock.monotonicMs() + settings.shutdownGraceMs;
    await Promise.all([http.drain(settings.shutdownGraceMs), mesh?.drain(settings.shutdownGraceMs)]);
    await attempt(log, 'mesh', async () => mesh?.close());
    await attempt(log, 'touches', () => touches.close());
    await attempt(log, 'semantics', () => duties.close());
    await attempt(log, 'supervisor', async () => supervisor?.stop());
    await writer.stop(deadlineMs);
    await readers.stop(deadlineMs);
    await store.close();
    points.close();
    await attempt(log, 'checkpoint', () => Promise.resolve(checkpoint(settings, identity.peerId)));
    await http.close();
    files.close();
    exit(code);
  };
  const stop = (code = 0) => {
    stopping ??= shutDown(code);
    return stopping;
  };

  // Before anything is claimed: a start that fails on a taken port must leave the owner of the database alone. What is
  // asked before the storage threads run waits for them.
  let address: Daemon['address'];
  try {
    address = await http.listen(settings.host, settings.port);
  } catch (error) {
    await stop(1);
    throw error;
  }
  supervisor = startSupervisor({
    ...seams,
    onFailure: ({ childId, error, decision }) => {
      metrics.actorRestarted(childId);
      log.error({ err: error, actor: childId, decision: decision.kind }, 'an actor failed');
      if (childId === 'storage' && decision.kind === 'escalate') {
        // No thread will come any more: whoever waits for one is told at once.
        const nowMs = systemClock.monotonicMs();
        void writer.stop(nowMs);
        void readers.stop(nowMs);
      }
    },
    children: [
      supervisorChild(
        'storage',
        { ...STORAGE_POLICY, restartsMax: 0 },
        {
          ...seams,
          onFailure: ({ childId, error, decision }) => {
            metrics.actorRestarted(childId);
            log.error({ err: error, actor: childId, decision: decision.kind }, 'a storage thread failed');
          },
          children: [
            storageThread<TimedCommand, OutcomeOf<Command>>({
              id: 'writer',
              policy: STORAGE_POLICY,
              worker: writer,
              spawn: () => spawnStorageThread('writer-thread', threadData, log),
              onSpawn: (thread) => {
                writerThread = thread;
              },
              stopTimeoutMs: settings.shutdownGraceMs,
            }),
            ...Array.from({ length: readerCount }, (_, index) =>
              storageThread<Reading, Read>({
                id: `reader-${index + 1}`,
                policy: STORAGE_POLICY,
                worker: readers,
                spawn: () => spawnStorageThread('reader-thread', threadData, log),
                onSpawn: (thread) => {
                  readerThreads.add(thread);
                  void thread.gone.then(() => readerThreads.delete(thread));
                },
                stopTimeoutMs: settings.shutdownGraceMs,
              }),
            ),
          ],
        },
        (started) => {
          storage = started;
        },
      ),
      supervisorChild('maintenance', BACKGROUND_POLICY, {
        ...seams,
        children: [...duties.children(), gauges.spec],
      }),
    ],
  });

  void supervisor.stopped.then((reason) => {
    if (reason.kind === 'failed') {
      log.error({ err: reason.error }, 'the node cannot go on');
      void stop(EXIT_STORAGE);
    }
  });

  const started = await supervisor.started;
  if (!started.ok) {
    await stop(EXIT_STORAGE);
    throw new Error(started.error.message);
  }
  isUp = true;
  await mesh.start();
  return {
    address,
    settings,
    stopped,
    stop: () => stop(),
    children: statuses,
    crashWriter: () => writerThread?.kill(),
    crashReaders: () => {
      for (const thread of readerThreads) thread.kill();
    },
  };
}

/** A node that waits for its own copy has none (interface §4.13). Another name of it shows as a state of the wire later. */
function refuseOwnAddress({ host, port, quorumPeers }: Settings): void {
  const isEverywhere = host === '0.0.0.0' || host === '::';
  const own = quorumPeers.find((url) => {
    const { hostname, port: named, protocol } = new URL(url);
    const at = named === '' ? (protocol === 'https:' ? 443 : 80) : Number(named);
    const there = hostname.replace(/^\[|\]$/g, '').toLowerCase();
    const isHere =
      there === host.toLowerCase() || (isLoopbackHost(there) && (isEverywhere || isLoopbackHost(host)));
    return at === port && isHere;
  });
  if (own === undefined) return;
  throw new ConfigError(`--quorum-peers names this node itself (${new URL(own).origin}): leave it out`);
}

/** Without an API key anybody may call himself an admin, so nobody is believed (interface §5.4). */
function warnOfUntrustedAdmins(settings: Settings, log: ReturnType<typeof stderrLog>): void {
  if (settings.adminAgentIds.length === 0 || settings.apiKey !== null) return;
  if (settings.adminHeaderTrust) {
    log.warn(
      { code: 'ADMIN_HEADER_TRUST' },
      'admin routes believe X-Agent-Id without an API key (SVC_ADMIN_HEADER_TRUST): keep this node isolated',
    );
    return;
  }
  log.warn(
    { code: 'ADMIN_WITHOUT_API_KEY' },
    'admins are configured but no API key, so X-Agent-Id is not trusted and the admin routes answer 403 to everybody; set SVC_API_KEY, or SVC_ADMIN_HEADER_TRUST=1 on an isolated machine',
  );
}

/** Creates or migrates the database before any thread opens it, so that a refusal is a clear error at the start. */
function prepareDatabase(settings: Settings, peerId: string): void {
  openOnce(settings, peerId).close();
}

/** The last connection to close folds the write-ahead log into the file. */
function checkpoint(settings: Settings, peerId: string): void {
  // Opening would make an empty database in the place of one that was removed.
  if (!existsSync(settings.dbPath)) return;
  const db = openOnce(settings, peerId);
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
}

function openOnce({ dbPath, synchronous }: Settings, peerId: string) {
  return openForWriting(dbPath, peerId, { busyTimeoutMs: 1000, synchronous });
}

async function attempt(log: ReturnType<typeof stderrLog>, part: string, run: () => Promise<unknown>) {
  try {
    await run();
  } catch (error) {
    log.error({ err: error, part }, 'a part did not stop in good order');
  }
}
