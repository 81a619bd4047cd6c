import {
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type MetricObjectWithValues,
  type MetricValue,
  Registry,
} from 'prom-client';
import type { Hooks } from '../../actors/hooks/hooks.js';
import type { JobTotal } from '../../protocol/jobs/queries.js';
import type { RecallCounts } from '../../protocol/memory/recall-ledger.js';
import type { SecretOutcome } from '../../protocol/policies/secret-modes.js';
import type { WebhookTotals } from '../../protocol/webhooks/queries.js';
import { HookMetrics } from './hook-metrics.js';
import { MeshMetrics } from './mesh-metrics.js';

/** Upper bounds of the latency buckets, in seconds. */
const DURATION_BUCKETS_S = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60,
];

const DECISIONS = { allow: 'allowed', deny: 'refused', ask: 'pending' } as const;

/**
 * The metrics of a node, in a registry of its own (interface §4.1). Parts push into it. A scrape reads only this
 * object, so that a scraper cannot load the store.
 */
export class Metrics {
  readonly #registry = new Registry();
  #processMetrics = false;
  #refresh: () => void = () => undefined;
  #mesh: MeshMetrics | null = null;
  #hooks: HookMetrics | null = null;

  readonly #requests = new Counter({
    name: 'svc_requests_total',
    help: 'Requests answered, by operation and HTTP status',
    labelNames: ['operation', 'status'] as const,
    registers: [this.#registry],
  });
  readonly #durations = new Histogram({
    name: 'svc_request_duration_seconds',
    help: 'Seconds from the end of the request head to the answer, by operation',
    labelNames: ['operation'] as const,
    buckets: DURATION_BUCKETS_S,
    registers: [this.#registry],
  });
  readonly #inflight = this.#gauge('svc_requests_inflight', 'Requests under way');
  readonly #streams = this.#gauge('svc_streams_open', 'Listeners of event streams');
  readonly #pendingEmbedding = this.#gauge(
    'svc_memories_pending_embedding',
    'Memories that wait for their vectors',
  );
  readonly #waitingTexts = this.#gauge(
    'svc_memories_pending_reindex',
    'Memories whose texts wait to be indexed by the rules of this release',
  );
  readonly #databaseUsed = this.#gauge(
    'svc_database_used_bytes',
    'Bytes of the embedded database that rows take, of `[storage] max_bytes`',
  );
  readonly #databaseReachable = this.#gauge(
    'svc_database_reachable',
    '1 when the database answered the last question of its size, else 0',
  );
  readonly #databaseBytes = this.#gauge('svc_database_size_bytes', 'What the database takes on its disk');
  readonly #writerQueueDepth = this.#gauge(
    'svc_writer_queue_depth',
    'Commands that wait for the storage writer',
  );
  readonly #restarts = new Counter({
    name: 'svc_actor_restarts_total',
    help: 'Restarts of actors, by actor',
    labelNames: ['actor'] as const,
    registers: [this.#registry],
  });
  readonly #shed = this.#counter(
    'svc_admission_shed_total',
    'Requests refused because too many were under way',
  );
  readonly #authFailures = new Counter({
    name: 'svc_auth_failures_total',
    help: 'Requests refused for a wrong API key, or because their source must wait after wrong keys, by reason',
    labelNames: ['reason'] as const,
    registers: [this.#registry],
  });
  readonly #touchesDropped = this.#counter(
    'svc_touches_dropped_total',
    'Reads that were not counted because too many were waiting to be counted',
  );
  readonly #recallAnswers = new Counter({
    name: 'svc_recall_answers_total',
    help: 'Answers of recalls, by their rows: found, weak (rows that surely answer nothing), none',
    labelNames: ['rows'] as const,
    registers: [this.#registry],
  });
  readonly #recallRows = this.#counter('svc_recall_rows_total', 'Rows in the answers of recalls');
  readonly #recallRowsUsed = this.#counter(
    'svc_recall_rows_used_total',
    'Rows of recalls that their agents read, cited, linked, changed or superseded afterwards',
  );

  readonly #peerMessagesRefused = new Counter({
    name: 'svc_federation_messages_refused_total',
    help: 'Messages from peers that were refused, by error code',
    labelNames: ['code'] as const,
    registers: [this.#registry],
  });
  readonly #operationsReceived = new Counter({
    name: 'svc_federation_operations_received_total',
    help: 'Items of messages from peers, by outcome',
    labelNames: ['outcome'] as const,
    registers: [this.#registry],
  });

  readonly #policyDecisions = new Counter({
    name: 'svc_policy_decisions_total',
    help: 'Actions that policies and permission rules gate, by what was decided: allowed, refused, pending',
    labelNames: ['action', 'outcome'] as const,
    registers: [this.#registry],
  });
  readonly #secretsFound = new Counter({
    name: 'svc_secrets_found_total',
    help: 'Secrets in what calls and peers brought, by kind and outcome: kept, redacted, refused',
    labelNames: ['kind', 'outcome'] as const,
    registers: [this.#registry],
  });
  readonly #pendingActions = this.#gauge('svc_pending_actions', 'Actions that wait for approval');

  readonly #modelRequests = new Counter({
    name: 'svc_model_requests_total',
    help: 'Requests to chat models, by feature and outcome: ok, failed',
    labelNames: ['feature', 'outcome'] as const,
    registers: [this.#registry],
  });
  readonly #modelTokens = new Counter({
    name: 'svc_model_tokens_total',
    help: 'Tokens that chat models counted, by feature and direction: in, out',
    labelNames: ['feature', 'direction'] as const,
    registers: [this.#registry],
  });
  readonly #modelSeconds = new Histogram({
    name: 'svc_model_request_duration_seconds',
    help: 'Seconds that chat models took to answer',
    buckets: DURATION_BUCKETS_S,
    registers: [this.#registry],
  });
  readonly #modelRequestsToday = this.#gauge(
    'svc_model_requests_today',
    'Requests to chat models of this day (UTC), of all processes on the database',
  );

  readonly #rerankRequests = new Counter({
    name: 'svc_rerank_requests_total',
    help: 'Requests to the reranker, by outcome: ok, failed',
    labelNames: ['outcome'] as const,
    registers: [this.#registry],
  });
  readonly #rerankSeconds = new Histogram({
    name: 'svc_rerank_request_duration_seconds',
    help: 'Seconds that recalls waited for the reranker',
    buckets: DURATION_BUCKETS_S,
    registers: [this.#registry],
  });

  readonly #webhookAttempts = new Counter({
    name: 'svc_webhook_attempts_total',
    help: 'Attempts to deliver an event, by what became of the event: ack, retry, dead, dropped, gone',
    labelNames: ['outcome'] as const,
    registers: [this.#registry],
  });
  readonly #webhooks: Readonly<Record<keyof WebhookTotals, Gauge>> = {
    subscriptions: this.#gauge('svc_webhook_subscriptions', 'Subscriptions to events'),
    quarantined: this.#gauge('svc_webhook_quarantined', 'Quarantined subscriptions'),
    pending: this.#gauge('svc_webhook_pending', 'Events that wait for their delivery'),
    dead: this.#gauge('svc_webhook_dlq_depth', 'Events that could not be delivered'),
    dropped: this.#gauge(
      'svc_webhook_dropped',
      'Events that found no room among those, or waited too long in quarantine',
    ),
  };

  readonly #jobs = new Gauge({
    name: 'svc_jobs',
    help: 'Jobs, by type and state; those that ended are kept for 7 days',
    labelNames: ['type', 'state'] as const,
    registers: [this.#registry],
  });
  readonly #jobRuns = new Counter({
    name: 'svc_job_runs_total',
    help: 'Runs of jobs, by type and what became of the job: done, retry, waits, failed, cut, gone',
    labelNames: ['type', 'outcome'] as const,
    registers: [this.#registry],
  });

  /** Metrics of replication; absent on a node without replication. */
  get mesh(): MeshMetrics {
    this.#mesh ??= new MeshMetrics(this.#registry);
    return this.#mesh;
  }

  /** Shows the figures of hooks; absent on a node that never had one. */
  showHooks(hooks: Pick<Hooks, 'report' | 'dropped'>): void {
    if (hooks.report().length > 0) this.#hooks ??= new HookMetrics(this.#registry);
    this.#hooks?.show(hooks);
  }

  /** Counts an answered request; the operation is `none` when no route matched. */
  request(operation: string, status: number, seconds: number): void {
    this.#requests.inc({ operation, status });
    this.#durations.observe({ operation }, seconds);
  }

  setInflight(requests: number): void {
    this.#inflight.set(requests);
  }

  setStreams(listeners: number): void {
    this.#streams.set(listeners);
  }

  setPendingEmbedding(memories: number): void {
    this.#pendingEmbedding.set(memories);
  }

  setWaitingTexts(memories: number): void {
    this.#waitingTexts.set(memories);
  }

  /** Null when the database did not answer: the size stays that of the last answer. */
  setDatabase(bytes: number | null): void {
    this.#databaseReachable.set(bytes === null ? 0 : 1);
    if (bytes !== null) this.#databaseBytes.set(bytes);
  }

  setDatabaseUsed(bytes: number): void {
    this.#databaseUsed.set(bytes);
  }

  setWriterQueueDepth(commands: number): void {
    this.#writerQueueDepth.set(commands);
  }

  actorRestarted(actor: string): void {
    this.#restarts.inc({ actor });
  }

  admissionShed(): void {
    this.#shed.inc();
  }

  authenticationFailed(reason: 'key' | 'token' | 'backoff'): void {
    this.#authFailures.inc({ reason });
  }

  policyDecision(action: string, outcome: keyof typeof DECISIONS): void {
    this.#policyDecisions.inc({ action, outcome: DECISIONS[outcome] });
  }

  secretFound(kind: string, outcome: SecretOutcome): void {
    this.#secretsFound.inc({ kind, outcome });
  }

  setPendingActions(actions: number): void {
    this.#pendingActions.set(actions);
  }

  /** A request to a chat model has its answer. */
  modelRequest(
    feature: string,
    {
      failed,
      tokensIn,
      tokensOut,
      ms,
    }: {
      readonly failed: boolean;
      readonly tokensIn: number;
      readonly tokensOut: number;
      readonly ms: number;
    },
  ): void {
    this.#modelRequests.inc({ feature, outcome: failed ? 'failed' : 'ok' });
    this.#modelTokens.inc({ feature, direction: 'in' }, tokensIn);
    this.#modelTokens.inc({ feature, direction: 'out' }, tokensOut);
    this.#modelSeconds.observe(ms / 1000);
  }

  rerankRequest(outcome: 'ok' | 'failed', ms: number): void {
    this.#rerankRequests.inc({ outcome });
    this.#rerankSeconds.observe(ms / 1000);
  }

  setModelRequestsToday(requests: number): void {
    this.#modelRequestsToday.set(requests);
  }

  webhookAttempt(outcome: string): void {
    this.#webhookAttempts.inc({ outcome });
  }

  setWebhooks(totals: WebhookTotals): void {
    for (const name of Object.keys(this.#webhooks) as (keyof WebhookTotals)[])
      this.#webhooks[name].set(totals[name]);
  }

  jobEnded(type: string, outcome: string): void {
    this.#jobRuns.inc({ type, outcome });
  }

  setJobs(totals: readonly JobTotal[]): void {
    this.#jobs.reset();
    for (const { type, state, count } of totals) this.#jobs.set({ type, state }, count);
  }

  /** A message of a peer was answered with an error code. */
  messageRefused(code: string): void {
    this.#peerMessagesRefused.inc({ code });
  }

  /** Items of peers: `applied`, `noop`, or the reason why not. */
  operationsReceived(outcome: string, count: number): void {
    this.#operationsReceived.inc({ outcome }, count);
  }

  touchesDropped(count: number): void {
    this.#touchesDropped.inc(count);
  }

  /** What recalls have come to, and what of that was counted before. */
  recalled(now: RecallCounts, before: RecallCounts): void {
    for (const rows of ['found', 'weak', 'none'] as const)
      this.#recallAnswers.inc({ rows }, now[rows] - before[rows]);
    this.#recallRows.inc(now.rows - before.rows);
    this.#recallRowsUsed.inc(now.used - before.used);
  }

  /** Called before the metrics are read; for figures that cost nothing to read and change all the time. */
  beforeReading(refresh: () => void): void {
    this.#refresh = refresh;
  }

  /** Content type of `render`. */
  get contentType(): string {
    return this.#registry.contentType;
  }

  /** The exposition text. */
  async render(): Promise<string> {
    this.#beRead();
    return this.#registry.metrics();
  }

  /** The same figures as values. */
  async read(): Promise<readonly MetricObjectWithValues<MetricValue<string>>[]> {
    this.#beRead();
    return this.#registry.getMetricsAsJSON();
  }

  /** Process metrics are gathered from the first reading on, so that a node whose metrics nobody reads does not pay for them. */
  #beRead(): void {
    this.#refresh();
    if (this.#processMetrics) return;
    this.#processMetrics = true;
    collectDefaultMetrics({ register: this.#registry });
  }

  #gauge(name: string, help: string): Gauge {
    return new Gauge({ name, help, registers: [this.#registry] });
  }

  #counter(name: string, help: string): Counter {
    return new Counter({ name, help, registers: [this.#registry] });
  }
}
