import type { Instant } from '../../../protocol/base/meanings.js';
import { RULES_MAX } from '../../../protocol/base/rule-limits.js';
import { SCHEMA_VERSION } from '../../../protocol/base/schema-version.js';
import type { Crypto } from '../../../protocol/base/seams.js';
import type { JobTotal } from '../../../protocol/jobs/queries.js';
import { type AuditReport, type AuditRow, AuditVerifier } from '../../../protocol/log/audit.js';
import type { Encoders } from '../../../protocol/maintenance/encoder-ref.js';
import type { EmbeddingFacts } from '../../../protocol/maintenance/queries.js';
import { type ModelUse, modelUseKind } from '../../../protocol/models/model-use.js';
import type { Answers } from '../../../protocol/release.js';
import { type Rule, ruleKind } from '../../../protocol/rules/rule-kind.js';
import type { WebhookTotals } from '../../../protocol/webhooks/queries.js';
import { diskFailure } from '../../disk-failure.js';
import { AUDIT_COLUMNS } from '../../sql/audit-chain.js';
import { auditHeadPath, readAuditHeads } from '../../sql/audit-head.js';
import type { Connection } from '../../sql/connection.js';
import { DamagedRowError } from '../../sql/damage.js';
import { DatabaseRefusedError } from '../../sql/database-setup.js';
import { FindRows, localSource, recordSource } from '../../sql/kinds/find-rows.js';
import { tailsAhead } from '../../sql/log-ahead.js';
import { embeddingProgress } from '../../sql/queries/embeddings.js';
import { jobTotals } from '../../sql/queries/jobs.js';
import { integrityNotes } from '../../sql/queries/scrub.js';
import { webhookTotals } from '../../sql/queries/webhooks.js';
import { Statements } from '../../sql/statements.js';
import { WAITING_TEXTS } from '../../sql/text-index.js';
import { schemaVersion } from '../file-schema.js';
import { SqliteMissingError } from '../open-sqlite.js';
import type { SqliteConnection } from '../sqlite-connection.js';
import { sqliteCode } from '../sqlite-errors.js';
import { inspectLog, type LogFacts } from './inspect-log.js';
import { openUnchanged } from './open-unchanged.js';

/** The findings about a database file; inspecting does not change it. */
export interface DatabaseFacts {
  readonly schemaVersion: number;
  /** Lines of SQLite's integrity check; empty when the file is intact. */
  readonly damage: readonly string[];
  /** Null for a database of another schema version. */
  readonly content: ContentFacts | null;
  readonly audit: AuditReport | null;
}

/** The subscriptions and their outbox. */
export interface WebhookFacts extends WebhookTotals {
  /** When the oldest event that waits happened. */
  readonly oldestPendingAt: string | null;
}

export interface JobFacts {
  readonly totals: readonly JobTotal[];
  /** The queued job that should have begun first, and what its last run said; null where none is queued. */
  readonly oldest: { readonly dueAt: Instant; readonly error: string | null } | null;
}

export interface ContentFacts {
  readonly memories: number;
  readonly expired: number;
  readonly archived: number;
  readonly links: number;
  readonly newestUpdatedAt: string | null;
  readonly newestHlc: string;
  /** Own operations that are stamped too far ahead for other nodes. */
  readonly operationsAhead: number;
  readonly fullText: {
    readonly missing: number;
    readonly surplus: number;
    /** Rows that are indexed by the rules of another release. */
    readonly waiting: number;
  };
  readonly embeddings: {
    readonly pending: number;
    readonly embedded: number;
    readonly skipped: number;
    readonly failed: number;
    /** Only their beginning is embedded. */
    readonly cut: number;
    readonly searched: Encoders['searched'];
    readonly coming: EmbeddingFacts['coming'];
    /** Rows that count as embedded but have no vector. */
    readonly lost: number;
    readonly models: readonly string[];
  };
  readonly owner: { readonly holder: string; readonly role: string; readonly expiresAtMs: number } | null;
  readonly log: LogFacts;
  /** Memories that are flagged as nearly the same as another one. */
  readonly nearDuplicates: number;
  readonly webhooks: WebhookFacts;
  /** What chat models were asked in the last days, newest first. */
  readonly modelUse: readonly ModelUse[];
  readonly jobs: JobFacts;
  /** Rows that were found damaged and wait for their repair. */
  readonly suspects: number;
  /** The rules about actions; null when one cannot be read. */
  readonly rules: readonly Rule[] | null;
  /** The findings of the last scrub, and of the comparison with the peers. */
  readonly integrity: Answers['integrity-notes'];
}

/** Why a file cannot be inspected. */
export interface Uninspectable {
  readonly reason: 'no-database' | 'damaged' | 'foreign' | 'busy' | 'unreadable' | 'disk';
  readonly message: string;
}

const DAMAGE_LINES_MAX = 5;
/** A larger file gets a shorter check, because the full one takes hours. */
const FULL_CHECK_PAGES_MAX = 131_072;

/** Inspects a database file of any version. */
export function inspectDatabase(
  path: string,
  now: string,
  crypto: Crypto,
  /** The machine's key; null when it has no key. */
  ownKey: Uint8Array | null,
):
  | { readonly ok: true; readonly facts: DatabaseFacts }
  | { readonly ok: false; readonly problem: Uninspectable } {
  let db: SqliteConnection | null = null;
  try {
    db = openUnchanged(path);
    return { ok: true, facts: look(db, path, now, crypto, ownKey) };
  } catch (error) {
    if (error instanceof SqliteMissingError) throw error;
    return { ok: false, problem: problemOf(error, path) };
  } finally {
    db?.close();
  }
}

function look(
  db: SqliteConnection,
  path: string,
  now: string,
  crypto: Crypto,
  ownKey: Uint8Array | null,
): DatabaseFacts {
  const version = schemaVersion(db);
  const pages = db.pragma('page_count', { simple: true }) as number;
  const check = pages > FULL_CHECK_PAGES_MAX ? 'quick_check' : 'integrity_check';
  const lines = (db.pragma(`${check}(${DAMAGE_LINES_MAX})`) as Record<string, string>[]).map(
    (row) => Object.values(row)[0] ?? '',
  );
  const damage = lines.filter((line) => line !== 'ok');
  const content = version === SCHEMA_VERSION ? contentOf(db, now, crypto) : null;
  const audit = content === null ? null : auditOf(db, auditHeadPath(path), crypto, ownKey);
  return { schemaVersion: version, damage, content, audit };
}

/** What a database of this release holds, in either engine. */
export function contentOf(db: Connection, now: string, crypto: Crypto): ContentFacts {
  const count = (sql: string, ...values: string[]) => (db.prepare(sql).get(...values) as { n: number }).n;
  const states = new Map(
    (
      db.prepare('SELECT embed_state AS state, count(*) AS n FROM memories GROUP BY embed_state').all() as {
        state: number;
        n: number;
      }[]
    ).map(({ state, n }) => [state, n]),
  );
  const owner = db.prepare('SELECT holder, role, expires_at_ms FROM database_owner').get() as
    | { holder: string; role: string; expires_at_ms: number }
    | undefined;
  const newest = db.prepare('SELECT max(updated_at) AS at FROM memories').get() as { at: string | null };
  const { hlc, peer_id } = db.prepare('SELECT hlc, peer_id FROM log_state').get() as Record<
    'hlc' | 'peer_id',
    string
  >;
  const ahead = tailsAhead(db, peer_id, Date.parse(now));
  const models = db.prepare('SELECT DISTINCT model FROM memory_embeddings').all() as { model: string }[];
  return {
    memories: count('SELECT count(*) AS n FROM memories'),
    expired: count('SELECT count(*) AS n FROM memories WHERE expires_at <= ?', now),
    archived: count('SELECT count(*) AS n FROM archived_memories'),
    links: count('SELECT count(*) AS n FROM memory_links'),
    newestUpdatedAt: newest.at,
    newestHlc: hlc,
    operationsAhead: ahead.reduce((sum, { operations }) => sum + operations, 0),
    fullText: {
      missing: count(
        'SELECT count(*) AS n FROM memories WHERE rid NOT IN (SELECT id FROM memories_fts_docsize)',
      ),
      surplus: count(
        'SELECT count(*) AS n FROM memories_fts_docsize WHERE id NOT IN (SELECT rid FROM memories)',
      ),
      waiting: count(WAITING_TEXTS),
    },
    embeddings: {
      pending: states.get(0) ?? 0,
      embedded: states.get(1) ?? 0,
      skipped: states.get(2) ?? 0,
      failed: states.get(3) ?? 0,
      cut: states.get(4) ?? 0,
      ...encodersOf(db),
      lost: count(
        'SELECT count(*) AS n FROM memories WHERE embed_state = 1 AND rid NOT IN (SELECT rid FROM memory_embeddings)',
      ),
      models: models.map(({ model }) => model),
    },
    owner:
      owner === undefined
        ? null
        : { holder: owner.holder, role: owner.role, expiresAtMs: owner.expires_at_ms },
    log: inspectLog(db, crypto),
    rules: rulesOf(db),
    integrity: integrityNotes(new Statements(db)),
    nearDuplicates: count('SELECT count(DISTINCT rid) AS n FROM near_duplicates'),
    webhooks: webhooksOf(db),
    modelUse: modelUseOf(db),
    jobs: jobsOf(db),
    suspects: count('SELECT count(*) AS n FROM suspects'),
  };
}

/** A server has the tables of its release. */
const hasTable = (db: Connection, name: string): boolean =>
  db.engine === 'postgres' ||
  db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(name) !== undefined;

function jobsOf(db: Connection): JobFacts {
  // A database that this release has not opened yet has no jobs.
  if (!hasTable(db, 'jobs')) return { totals: [], oldest: null };
  const { totals } = jobTotals({ statements: new Statements(db) });
  const oldest = db
    .prepare("SELECT due_at AS dueAt, error FROM jobs WHERE state = 'queued' ORDER BY due_at LIMIT 1")
    .get() as { dueAt: string; error: string | null } | undefined;
  return { totals, oldest: oldest ?? null };
}

function webhooksOf(db: Connection): WebhookFacts {
  const oldest = db
    .prepare("SELECT min(delivered_at) AS at FROM subscription_events WHERE delivery_status = 'pending'")
    .get() as { at: string | null };
  const statements = new Statements(db);
  const { oldestAt, ...totals } = webhookTotals({ statements, find: new FindRows(statements) });
  const waiting = [oldest.at, oldestAt].filter((at) => at !== null).sort();
  return { ...totals, oldestPendingAt: waiting[0] ?? null };
}

/** None in a file that a release without chat models wrote last. */
function modelUseOf(db: Connection): readonly ModelUse[] {
  const source = localSource(modelUseKind);
  if (!hasTable(db, source.table)) return [];
  return new FindRows(new Statements(db)).all(source, { order: { by: 'day', descending: true }, limit: 100 });
}

function rulesOf(db: Connection): readonly Rule[] | null {
  try {
    return new FindRows(new Statements(db)).all(recordSource(ruleKind), { limit: RULES_MAX });
  } catch (error) {
    if (error instanceof DamagedRowError) return null;
    throw error;
  }
}

function encodersOf(db: Connection) {
  const { searched, coming } = embeddingProgress({ statements: new Statements(db) });
  return { searched, coming };
}

/** What the audit chain says, and the file with its ends. */
export function auditOf(
  db: Connection,
  headPath: string,
  crypto: Crypto,
  ownKey: Uint8Array | null,
): AuditReport {
  // Read the heads first, because rows may be added meanwhile.
  const verifier = new AuditVerifier(crypto, ownKey, readAuditHeads(headPath));
  const rows = db.prepare<[], AuditRow>(`SELECT ${AUDIT_COLUMNS} FROM signed_events ORDER BY sequence`);
  for (const row of rows.iterate()) verifier.check(row);
  return verifier.report();
}

function problemOf(error: unknown, path: string): Uninspectable {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof DatabaseRefusedError) return { reason: 'foreign', message };
  const disk = diskFailure(error, path);
  if (disk !== null) return { reason: 'disk', message: disk.message };
  const code = sqliteCode(error) ?? (error as NodeJS.ErrnoException).code ?? '';
  if (code.startsWith('SQLITE_NOTADB')) return { reason: 'no-database', message };
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')) return { reason: 'busy', message };
  if (code.startsWith('SQLITE_CANTOPEN') || /^E[A-Z]+$/.test(code)) return { reason: 'unreadable', message };
  return { reason: 'damaged', message };
}
