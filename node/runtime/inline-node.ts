import { dirname } from 'node:path';
import type { Log } from '../../protocol/base/seams.js';
import { nodePolicy } from '../../protocol/decide/node-policy.js';
import { DamageWatch } from '../../storage/damage-watch.js';
import { makeFolder } from '../../storage/make-folder.js';
import type { Store } from '../../storage/port.js';
import { InlineStore } from '../../storage/sql/inline-store.js';
import type { Settings } from '../config/settings.js';
import { type OpenHooks, openHooks } from '../hooks/open-hooks.js';
import { loadMachineIdentity } from '../identity/machine-key.js';
import { stderrLog } from '../log.js';
import type { MembersOnDisk } from '../mesh/members-on-disk.js';
import { openModels } from '../models/open-models.js';
import type { Catalogue, Services } from '../pipeline/call.js';
import { systemClock, systemCrypto, systemRandom, systemScheduler } from '../seams.js';
import { Screen } from '../secrets/screen.js';
import { NO_SEMANTICS } from '../semantics/no-semantics.js';
import { openReranker } from '../semantics/reranker/open-reranker.js';
import { inlineTokenCounter } from '../semantics/token-counter.js';
import { openAs, placeOf } from '../threads/open-database.js';
import { holderName, presenceOf } from '../threads/presence.js';
import { DatabaseDamage } from './database-damage.js';
import { openSemantics, type Semantics } from './open-semantics.js';
import { refuseUnsafeOperatorKey } from './operator-key.js';
import type { OwnerDutiesParts } from './owner-duties.js';
import { servicesOf } from './services.js';
import { touchesOf } from './touch-queue.js';

/** A node without a daemon: the store runs in this thread. */
export interface InlineNode {
  readonly services: Services;
  /** True while this process owns the database. */
  owns(): boolean;
  /** Reads the file of hooks again. */
  reloadHooks(): void;
  /** Writes what is pending and closes the database. */
  close(): Promise<void>;
}

/** How long one SQL statement of an inline process waits for the lock before it is retried with jitter. */
const BUSY_TIMEOUT_MS = 20;

/** For commands that do not read the catalogue: building it loads every operation, which would delay the command. */
export const NO_CATALOGUE: Catalogue = {
  get tools(): never {
    throw new Error('this command reads the catalogue: open its node with one');
  },
  describe: () => {
    throw new Error('this command reads the catalogue: open its node with one');
  },
};

/** Opens the database in this process while other processes may use it: for MCP servers and one-shot commands. */
export async function openInlineNode(
  settings: Settings,
  role: 'mcp' | 'cli',
  catalogue?: Catalogue,
): Promise<InlineNode> {
  const log = stderrLog(role === 'cli' && settings.logLevel === 'info' ? 'warn' : settings.logLevel);
  await refuseUnsafeOperatorKey(settings, role === 'mcp');
  makeFolder(settings.home);
  makeFolder(dirname(settings.dbPath));
  const identity = loadMachineIdentity(settings.keyDir, systemRandom);
  const db = openAs(placeOf(settings), identity.peerId, {
    busyTimeoutMs: BUSY_TIMEOUT_MS,
    // A command ends soon; an MCP server would keep all others out.
    aloneIfFull: role === 'cli',
  });
  const inline = new InlineStore({
    db,
    clock: systemClock,
    scheduler: systemScheduler,
    random: systemRandom,
    crypto: systemCrypto,
    signer: identity.key,
    policy: nodePolicy(settings, systemRandom.uuid()),
    reportBug: (error) => log.error({ err: error }, 'a command failed unexpectedly'),
    // The lock of a server is fair.
    shared: settings.storeUrl === null && settings.dbPath !== ':memory:',
  });
  const damage = new DatabaseDamage(log);
  const store = new DamageWatch(inline, systemClock, damage);
  const screen = new Screen(settings);
  const touches = touchesOf({ store, scheduler: systemScheduler, log, screen, settings });
  const semantics = openSemantics(settings, store, log);
  const semantic = semantics?.role ?? NO_SEMANTICS;
  const hooks = openInlineHooks(settings, store, log, role);
  const asked = { ...openAsked(settings, store, log), semantic };
  const services = servicesOf(identity, {
    store,
    hooks: hooks.hooks,
    ...asked,
    tokens: inlineTokenCounter(),
    touches,
    screen,
    settings,
    log,
    catalogue: catalogue ?? (await import('../operations/catalogue.js')).CATALOGUE,
    ...membersOnDisk(settings, identity.peerId, log),
    condition: () => ({
      ready: damage.takesWrites,
      degraded: damage.degraded(),
      pendingEmbeddings: null,
      writer: 'process',
    }),
  });
  if (role === 'cli' && semantics !== null) embedHere(semantics);
  const background =
    role === 'mcp' && settings.dbPath !== ':memory:'
      ? await startBackground(services, {
          store: services.store,
          peerId: services.peerId,
          role: 'mcp',
          ...(await servingParts(services)),
          settings,
          clock: systemClock,
          scheduler: systemScheduler,
          random: systemRandom,
          log,
          semantic: semantics,
        })
      : null;
  return {
    services,
    owns: () => background?.owns() === true,
    reloadHooks: hooks.reload,
    async close() {
      // Calls of other processes still need the parts below.
      await background?.endDuties();
      for (const part of [asked.models, asked.reranker]) await part.close();
      await hooks.close();
      for (const part of [touches, background, semantic, store]) await part?.close();
    },
  };
}

/** What is asked over HTTP where the settings name it. */
function openAsked(settings: Settings, store: Store, log: Log): Pick<Services, 'models' | 'reranker'> {
  const parts = { settings, log, clock: systemClock, scheduler: systemScheduler };
  return { models: openModels({ ...parts, store }), reranker: openReranker(parts) };
}

/** No operator can answer the questions of hooks here. The children of a command begin with the first event. */
const openInlineHooks = (settings: Settings, store: Store, log: Log, role: 'mcp' | 'cli'): OpenHooks =>
  openHooks({
    ...{ settings, store, log, questions: null, startsNow: role === 'mcp' },
    ...{ clock: systemClock, scheduler: systemScheduler, crypto: systemCrypto },
  });

/** Rows without a vector that a command embeds before it asks, and for how long. */
const COMMAND_BATCH_ROWS = 16;
const COMMAND_EMBED_MS = 2000;

/** A command embeds in its own process when no other one does. */
function embedHere({ role, openLocal }: Semantics): void {
  role.whenUnreachable(async () => {
    const local = openLocal({ batchRows: COMMAND_BATCH_ROWS, plans: false, here: true });
    role.own(local);
    const untilMs = systemClock.monotonicMs() + COMMAND_EMBED_MS;
    while ((await local.round()).afterMs === 0) if (systemClock.monotonicMs() > untilMs) break;
  });
}

/** Members of the mesh; the modules for that are loaded when the first memory of another node is shown. */
function membersOnDisk(settings: Settings, peerId: string, log: Log): Pick<Services, 'isMember' | 'members'> {
  let members: Promise<MembersOnDisk> | null = null;
  const parts = { settings, log, clock: systemClock, random: systemRandom, crypto: systemCrypto };
  const read = () => {
    members ??= import('../mesh/members-on-disk.js').then(
      (mesh) => new mesh.MembersOnDisk(parts, peerId, systemScheduler),
    );
    return members;
  };
  return {
    isMember: async (asked) => (await read()).isMember(asked),
    members: async () => (await read()).members(),
  };
}

/** Under which name an MCP server owns the database, and the socket at which it then takes the calls of others. */
async function servingParts(
  services: Services,
): Promise<Pick<OwnerDutiesParts, 'holder' | 'presence' | 'socket'>> {
  const { LocalSocket } = await import('./local-socket.js');
  const { settings, log } = services;
  const holder = holderName('mcp', systemRandom.uuid());
  const seams = { crypto: systemCrypto, clock: systemClock, scheduler: systemScheduler };
  const presence = presenceOf({ ...seams, settings, holder });
  return { holder, presence, socket: () => new LocalSocket(services, holder, log) };
}

/** An MCP server maintains the database while no daemon does; the modules for that are loaded only now. */
async function startBackground(services: Services, parts: OwnerDutiesParts) {
  const { openJobs } = await import('../jobs/open-jobs.js');
  const { OwnerDuties } = await import('./owner-duties.js');
  const { startSupervisor } = await import('../../actors/core/supervisor.js');
  const duties = new OwnerDuties(parts);
  const { clock, scheduler, random, log } = parts;
  const jobs = openJobs({ services, scheduler, owns: () => duties.owned });
  const supervisor = startSupervisor({
    clock,
    scheduler,
    random,
    children: [...duties.children(), jobs.spec],
    onFailure: ({ childId, error }) => log.warn({ err: error, actor: childId }, 'an actor failed'),
  });
  return {
    owns: () => duties.owned,
    // The embedder closes first: a round of the backfill that waits for it then ends at once.
    endDuties: () => duties.close(),
    close: () => supervisor.stop(),
  };
}
