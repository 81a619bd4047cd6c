import { dirname } from 'node:path';
import type { Commits } from '../../actors/core/commits.js';
import { JobDispatcher } from '../../actors/core/job-dispatcher.js';
import { questionFrame } from '../../actors/hooks/question-frame.js';
import { Questions } from '../../actors/hooks/questions.js';
import type { JobRun } from '../../actors/jobs/jobs-queue.js';
import { ApprovalStream } from '../../actors/streams/approval-stream.js';
import { InboxStream } from '../../actors/streams/inbox-stream.js';
import { WebhookQueue } from '../../actors/webhooks/webhook-queue.js';
import { WEBHOOK_TURNS_PER_SECOND } from '../../protocol/base/limits.js';
import type { Log } from '../../protocol/base/seams.js';
import type { DeliveryOutcome } from '../../protocol/webhooks/deliveries.js';
import type { Delivery } from '../../protocol/webhooks/queries.js';
import { makeFolder } from '../../storage/make-folder.js';
import type { Settings } from '../config/settings.js';
import { type OpenHooks, openHooks } from '../hooks/open-hooks.js';
import { approvalsRoute } from '../http/approvals-route.js';
import { inboxRoute } from '../http/inbox-route.js';
import { createHttpSurface, type HttpSurface } from '../http/server.js';
import { loadMachineIdentity, type MachineIdentity } from '../identity/machine-key.js';
import { openJobs } from '../jobs/open-jobs.js';
import { MeshNode } from '../mesh/mesh-node.js';
import { MeshPeers } from '../mesh/mesh-peers.js';
import { openFileRoster } from '../mesh/open-receiver.js';
import { type ListenerFiles, openListenerFiles } from '../mesh/tls/listener-files.js';
import type { Models } from '../models/models.js';
import { type ModelsParts, openModels } from '../models/open-models.js';
import { Metrics } from '../observability/metrics.js';
import { openTelemetry } from '../observability/open-telemetry.js';
import type { Telemetry } from '../observability/telemetry.js';
import { CATALOGUE } from '../operations/catalogue.js';
import { OPERATIONS } from '../operations/registry.js';
import type { Examine, Services } from '../pipeline/call.js';
import { clockProblem } from '../pipeline/clock-problem.js';
import { limitedIn, withheldFromOwners } from '../pipeline/limited-listeners.js';
import { BACKGROUND_POLICY } from '../restart-policies.js';
import { systemClock, systemCrypto, systemRandom, systemScheduler } from '../seams.js';
import { Screen } from '../secrets/screen.js';
import { NO_SEMANTICS } from '../semantics/no-semantics.js';
import { openReranker, type RerankerParts } from '../semantics/reranker/open-reranker.js';
import type { Reranker } from '../semantics/reranker/reranker.js';
import { ThreadTokenCounter } from '../semantics/thread-token-counter.js';
import { holderName, presenceOf } from '../threads/presence.js';
import { WebhookSender } from '../webhooks/sender.js';
import { DaemonCondition } from './daemon-condition.js';
import { DaemonStorage } from './daemon-storage.js';
import { DatabaseDamage } from './database-damage.js';
import { openOnce } from './database-file.js';
import { LocalSocket } from './local-socket.js';
import { McpEndpoint } from './mcp-endpoint.js';
import { openSemantics, type Semantics } from './open-semantics.js';
import { OwnerDuties, type OwnerDutiesParts } from './owner-duties.js';
import { servicesOf } from './services.js';
import { type DeferredTouches, touchesOf } from './touch-queue.js';

/** What a daemon is before its parts are made. */
export interface DaemonGround {
  readonly settings: Settings;
  readonly log: Log;
  readonly identity: MachineIdentity;
  readonly metrics: Metrics;
  readonly telemetry: Telemetry;
}

/** A daemon's parts, each made from the ones before it. Nothing runs or listens yet. */
export interface DaemonParts extends DaemonGround {
  /** The files of the listener's TLS. */
  readonly files: ListenerFiles;
  readonly condition: DaemonCondition;
  readonly storage: DaemonStorage;
  readonly touches: DeferredTouches;
  /** Null in keyword mode. */
  readonly semantic: Semantics | null;
  readonly duties: OwnerDuties;
  readonly approvals: ApprovalStream;
  readonly inbox: InboxStream;
  readonly webhooks: JobDispatcher<Delivery>;
  readonly jobs: JobDispatcher<JobRun>;
  readonly hooks: OpenHooks;
  readonly mesh: MeshNode;
  readonly services: Services;
  readonly mcp: McpEndpoint;
  readonly http: HttpSurface;
  readonly local: LocalSocket;
}

const PRESENCE_SEAMS = { crypto: systemCrypto, clock: systemClock, scheduler: systemScheduler };

/** Makes the folders and the keys of a daemon, and what it reports with. */
export async function openGround(settings: Settings, log: Log): Promise<DaemonGround> {
  makeFolder(settings.home);
  makeFolder(dirname(settings.dbPath));
  const identity = loadMachineIdentity(settings.keyDir, systemRandom);
  const metrics = new Metrics();
  const telemetry = await openTelemetry({ settings, metrics, peerId: identity.peerId, log });
  return { settings, log, identity, metrics, telemetry };
}

/** Makes the database and every part of a daemon. */
export function openParts(ground: DaemonGround, examine?: Examine): DaemonParts {
  const { settings, log, identity, metrics, telemetry } = ground;
  const files = openListenerFiles(settings, { scheduler: systemScheduler, log });
  // Opens the database before any thread does, so that a refusal is a clear error at the start.
  openOnce(settings, identity.peerId).close();
  const damage = new DatabaseDamage(log);
  const condition = new DaemonCondition(damage);
  const storage = new DaemonStorage(settings, identity.peerId, log, damage);
  const screen = new Screen(settings, (kind, outcome) => metrics.secretFound(kind, outcome));
  const touches = touchesOf({ store: storage.store, scheduler: systemScheduler, log, screen, settings });
  const semantic = openSemantics(settings, storage.store, log);
  const holder = holderName('daemon', systemRandom.uuid());
  const presence = presenceOf({ ...PRESENCE_SEAMS, settings, holder });
  const { approvals, inbox } = openStreams(storage, presence);
  const hooks = openDaemonHooks(settings, storage, log, approvals);
  const peers = peersOf(settings, identity, log);
  const own = servicesOf(identity, {
    store: storage.store,
    hooks: hooks.hooks,
    semantic: semantic?.role ?? NO_SEMANTICS,
    reranker: rerankerOf(settings, log, metrics),
    models: modelsOf(settings, storage, log, metrics),
    tokens: new ThreadTokenCounter({ clock: systemClock, scheduler: systemScheduler }),
    touches,
    screen,
    settings,
    log,
    catalogue: CATALOGUE,
    isMember: (peerId) => peers.isMember(peerId),
    members: () => peers.members(),
    condition: () => condition.read(),
    examine,
    onDecision: (action, outcome) => metrics.policyDecision(action, outcome),
    tracing: telemetry.tracing ?? undefined,
  });
  const mesh = new MeshNode({
    services: own,
    peers,
    signer: identity.key,
    scheduler: systemScheduler,
    random: systemRandom,
    metrics,
    commits: presence,
  });
  damage.onSuspected(() => mesh.suspected());
  const { replication } = mesh;
  const duties = dutiesOf(own, { holder, presence }, semantic, () => clockProblem(replication) !== null);
  const services: Services = {
    ...own,
    condition: () => ({ ...condition.read(), federation: mesh.condition() }),
    replication,
  };
  const mcp = new McpEndpoint(services);
  const http = httpOf(services, { metrics, mesh, mcp, approvals, inbox, files });
  return {
    ...ground,
    files,
    condition,
    storage,
    touches,
    semantic,
    duties,
    approvals,
    inbox,
    webhooks: dispatcherOf(services, duties, metrics),
    jobs: jobsOf(services, duties, metrics),
    hooks,
    mesh,
    services,
    mcp,
    http,
    local: new LocalSocket(services, holder, log),
  };
}

function httpOf(
  services: Services,
  {
    metrics,
    mesh,
    mcp,
    approvals,
    inbox,
    files,
  }: Pick<DaemonParts, 'metrics' | 'mesh' | 'mcp' | 'approvals' | 'inbox' | 'files'>,
): HttpSurface {
  return createHttpSurface({
    services,
    operations: OPERATIONS,
    metrics,
    inflightMax: services.settings.maxInflightRequests,
    peerRoutes: mesh.routes,
    streamRoutes: [approvalsRoute(approvals), inboxRoute(inbox, limitedIn(services, 'memory_inbox'))],
    mcp,
    tls: files.tls,
    upgrade: mesh.callsAtApi ? mesh.upgrade : null,
  });
}

function modelsOf(settings: Settings, { store }: DaemonStorage, log: Log, metrics: Metrics): Models {
  const seams = { clock: systemClock, scheduler: systemScheduler };
  const onCall: ModelsParts['onCall'] = (feature, call) => metrics.modelRequest(feature, call);
  return openModels({ ...seams, settings, store, log, onCall });
}

function rerankerOf(settings: Settings, log: Log, metrics: Metrics): Reranker {
  const seams = { clock: systemClock, scheduler: systemScheduler };
  const onRequest: RerankerParts['onRequest'] = (outcome, ms) => metrics.rerankRequest(outcome, ms);
  return openReranker({ ...seams, settings, log, onRequest });
}

/** Who belongs to the mesh, and how messages reach them. */
function peersOf(settings: Settings, { peerId }: MachineIdentity, log: Log): MeshPeers {
  const seams = {
    clock: systemClock,
    scheduler: systemScheduler,
    random: systemRandom,
    crypto: systemCrypto,
  };
  const manual = openFileRoster({ settings, clock: systemClock, log });
  return new MeshPeers({ ...seams, settings, peerId, log, manual });
}

/** The streams of events that listeners follow over HTTP. */
function openStreams({ store }: DaemonStorage, commits: Commits) {
  const parts = { store, commits, policy: BACKGROUND_POLICY, clock: systemClock, scheduler: systemScheduler };
  return { approvals: new ApprovalStream(parts), inbox: new InboxStream(parts) };
}

/** Only the owner of the database delivers, so that no two processes send one event at the same time. */
function dispatcherOf(services: Services, duties: OwnerDuties, metrics: Metrics): JobDispatcher<Delivery> {
  const { store, settings, log } = services;
  const seams = { clock: systemClock, scheduler: systemScheduler };
  const sender = new WebhookSender({ ...seams, settings, crypto: systemCrypto });
  const concurrency = settings.webhookDispatchConcurrency;
  const withheldFrom = withheldFromOwners(services);
  const onAttempt = (became: DeliveryOutcome) => metrics.webhookAttempt(became);
  return new JobDispatcher({
    ...seams,
    name: 'webhooks',
    queue: new WebhookQueue({ store, withheldFrom, clock: systemClock, log, concurrency, onAttempt }),
    open: () => sender.open(),
    owns: () => duties.owned,
    concurrency,
    turnsPerSecond: WEBHOOK_TURNS_PER_SECOND,
    policy: BACKGROUND_POLICY,
    log,
  });
}

const jobsOf = (services: Services, duties: OwnerDuties, metrics: Metrics): JobDispatcher<JobRun> =>
  openJobs({
    ...{ services, scheduler: systemScheduler, owns: () => duties.owned },
    onEnd: (type, became) => metrics.jobEnded(type, became),
  });

/** Questions of hooks go to the operators who follow the stream of approvals. */
function openDaemonHooks(
  settings: Settings,
  { store }: DaemonStorage,
  log: Log,
  approvals: ApprovalStream,
): OpenHooks {
  const seams = { clock: systemClock, scheduler: systemScheduler };
  const questions = new Questions({
    ...seams,
    random: systemRandom,
    announce: (question) => approvals.tell(questionFrame(question)),
  });
  return openHooks({ ...seams, settings, store, crypto: systemCrypto, log, questions, startsNow: true });
}

function dutiesOf(
  { store, peerId, settings, log }: Services,
  known: Pick<OwnerDutiesParts, 'holder' | 'presence'>,
  semantic: Semantics | null,
  isClockAhead: () => boolean,
): OwnerDuties {
  return new OwnerDuties({
    store,
    peerId,
    role: 'daemon',
    ...known,
    settings,
    isClockAhead,
    clock: systemClock,
    scheduler: systemScheduler,
    random: systemRandom,
    log,
    semantic,
  });
}
