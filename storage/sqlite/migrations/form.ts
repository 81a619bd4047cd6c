import type { Instant } from '../../../protocol/base/meanings.js';
import { instantFromMs } from '../../../protocol/base/time.js';
import { CHAIN } from '../../../protocol/chain.js';
import type { DecisionContext } from '../../../protocol/decide/deciding.js';
import type { Mutation } from '../../../protocol/decide/mutations.js';
import { DEFAULT_NODE_POLICY } from '../../../protocol/decide/node-policy.js';
import type { Subject } from '../../../protocol/kinds/kind.js';
import { KINDS } from '../../../protocol/kinds/kinds.js';
import { NO_REST } from '../../../protocol/kinds/payload.js';
import { type Standard, standardKind } from '../../../protocol/memory/standard-kind.js';
import type { Command, OutcomeOf } from '../../../protocol/release.js';
import { repairOf } from '../../../protocol/replication/repair-subjects.js';
import { TRUST_ALL } from '../../../protocol/rules/rules.js';
import type { Connection } from '../connection.js';
import { DatabaseRefusedError, type OpenOptions } from '../database-setup.js';
import { Digests } from '../digests.js';
import { createEncoderTables } from '../encoder-tables.js';
import { recordIndexes } from '../kinds/record-table.js';
import { KindPages, SubjectTables } from '../kinds/tables.js';
import { OperationLog } from '../log.js';
import { Mutations } from '../mutations.js';
import { QuotaLedger } from '../quota-ledger.js';
import { DecisionReads } from '../reads.js';
import { runDecision } from '../run-decision.js';
import {
  ADDRESSEE_INDEX,
  DATABASE_FORM,
  EARLIER_INDEX,
  EARLIER_TARGET_INDEX,
  LINK_COLUMNS,
  NEAR_DUPLICATE_TABLES,
  REFUSAL_INDEX,
  REPLICA_TABLES,
  SCOPE_COLUMN,
  WALK_INDEX,
  WRITTEN_COLUMN,
} from '../schema.js';
import { addTextIndex, expectTextRules } from '../text-index.js';
import { OUTBOX_TABLES, SUBSCRIPTION_TABLES } from '../webhook-tables.js';
import { dropOlderEvents, moveSubscriptions } from './older-subscriptions.js';
import { asideName, dropAside, setAside, tableNames } from './tables.js';

/**
 * Upgrades a database of an earlier form of schema 55 to the present form, in one transaction. Safe when several
 * processes open the same file: one upgrades, the others wait for it and find it done.
 */
export function upgradeForm(db: Connection, options: OpenOptions): void {
  if (formOf(db) <= DATABASE_FORM) {
    addWrittenBytes(db);
    addColumn(db, 'origins', SCOPE_COLUMN);
    createEncoderTables(db);
    addNearDuplicates(db);
    addSubscriptions(db, options);
    addAnnouncedEvents(db);
  }
  if (formOf(db) < DATABASE_FORM) {
    db.pragma('foreign_keys = OFF');
    db.pragma('legacy_alter_table = ON');
    db.exec('BEGIN IMMEDIATE');
    try {
      // The engine of the step after it writes to the index.
      if (formOf(db) < DATABASE_FORM) addTextIndex(db);
      if (formOf(db) < 2) toSecondForm(db, options);
      db.pragma(`user_version = ${DATABASE_FORM}`);
      db.exec('COMMIT');
    } catch (error) {
      if (db.inTransaction) db.exec('ROLLBACK');
      const cause = error instanceof Error ? error.message : String(error);
      throw new DatabaseRefusedError(
        `the database could not be brought to today's form (${cause}); it is as it was`,
        {
          cause: error,
        },
      );
    } finally {
      db.pragma('legacy_alter_table = OFF');
      db.pragma('foreign_keys = ON');
    }
  } else if (formOf(db) > DATABASE_FORM) {
    throw new DatabaseRefusedError('a newer release wrote this database: install a newer release');
  }
  addLinkColumns(db);
  for (const index of [WALK_INDEX, EARLIER_INDEX, EARLIER_TARGET_INDEX, ADDRESSEE_INDEX, REFUSAL_INDEX])
    db.exec(index.replace('INDEX', 'INDEX IF NOT EXISTS'));
  createRecordIndexes(db);
  expectTextRules(db);
}

function formOf(db: Connection): number {
  // Databases of the first form do not record a form.
  return Math.max(1, db.pragma('user_version', { simple: true }) as number);
}

/** Indexes of kinds that were added after the database was made. */
function createRecordIndexes(db: Connection): void {
  const there = new Set(
    db.prepare("SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'records'").pluck().all(),
  );
  for (const sql of recordIndexes(KINDS)) {
    if (!there.has(/records_\w+/.exec(sql)![0])) db.exec(sql);
  }
}

/** Earlier releases of this form neither have the column nor look at it. */
function addWrittenBytes(db: Connection): void {
  addColumn(db, 'agent_quotas', WRITTEN_COLUMN);
}

/** Likewise; what these columns show lies in `rest`. */
function addLinkColumns(db: Connection): void {
  for (const column of Object.values(LINK_COLUMNS)) addColumn(db, 'memory_links', column);
}

function addColumn(db: Connection, table: string, column: string): void {
  const [name] = column.split(' ', 1);
  const there = db.prepare('SELECT 1 FROM pragma_table_xinfo(?) WHERE name = ?');
  if (there.get(table, name) !== undefined) return;
  db.exec('BEGIN IMMEDIATE');
  try {
    // Another process may have added it meanwhile.
    if (there.get(table, name) === undefined) db.exec(`ALTER TABLE ${table} ADD COLUMN ${column}`);
    db.exec('COMMIT');
  } catch (error) {
    db.exec('ROLLBACK');
    throw error;
  }
}

/** Rows that are here already are not compared: that would be hours of work for something that nobody asked for. */
const addNearDuplicates = (db: Connection): void =>
  addTables(db, 'near_duplicates', () => {
    db.exec(NEAR_DUPLICATE_TABLES);
    db.exec('INSERT INTO near_duplicates_through SELECT 1, commit_sequence FROM log_state');
  });

/** A database that came from an older schema may still have that schema's tables of webhooks. */
const addSubscriptions = (db: Connection, { nowMs }: OpenOptions): void =>
  addTables(db, 'subscription_changes', () => {
    dropOlderEvents(db);
    const isOlder = tableNames(db, 'table').includes('subscriptions');
    if (isOlder) setAside(db, 'subscriptions');
    db.exec(SUBSCRIPTION_TABLES);
    if (isOlder) moveSubscriptions(db, instantFromMs(nowMs));
  });

/** What waits in the outbox of each subscription stays there; later events are recorded once for all of them. */
const addAnnouncedEvents = (db: Connection): void =>
  addTables(db, 'announced_events', () => {
    const older = asideName('subscription_events');
    const last = '(SELECT coalesce(max(seq), 0) FROM subscription_events)';
    for (const column of ['passed_seq', 'since_seq'])
      db.exec(`ALTER TABLE subscriptions ADD COLUMN ${column} INTEGER NOT NULL DEFAULT 0`);
    db.exec(`UPDATE subscriptions SET passed_seq = ${last}, since_seq = ${last}`);
    setAside(db, 'subscription_events');
    db.exec(OUTBOX_TABLES);
    db.exec(`INSERT INTO subscription_events SELECT seq, subscription_id, correlation_id, event_type, payload,
      delivered_at, delivery_status, attempts, next_attempt_ms, last_error, first_failed_at, replays FROM ${older}`);
    db.exec(`INSERT INTO sqlite_sequence (name, seq) SELECT 'announced_events', ${last}`);
    dropAside(db, 'subscription_events');
  });

/** Runs the statements that a database needs which lacks a table. */
function addTables(db: Connection, table: string, add: () => void): void {
  const there = db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?");
  if (there.get(table) !== undefined) return;
  db.exec('BEGIN IMMEDIATE');
  try {
    // Another process may have made them meanwhile.
    if (there.get(table) === undefined) add();
    db.exec('COMMIT');
  } catch (error) {
    db.exec('ROLLBACK');
    throw error;
  }
}

const COPIED: Readonly<Record<string, string>> = {
  tombstones: `INSERT INTO tombstones
      (kind, id, namespace, deleted_at, hlc, origin, origin_seq, seen, word, reason, facts)
    SELECT 'memory', id, namespace, deleted_at, hlc, origin, origin_seq, seen, kind, reason,
      json_object('expires_at', expires_at, 'title', title, 'version', version) FROM older_tombstones`,
  siblings: `INSERT INTO siblings (kind, subject, origin, origin_seq)
    SELECT 'memory', subject, origin, origin_seq FROM older_siblings`,
  conflicts: `INSERT INTO conflicts (origin, origin_seq, kind, subject, namespace, winner)
    SELECT origin, origin_seq, 'memory', subject, namespace, winner FROM older_conflicts`,
};

/** Tables shared by all kinds, unknown members, digests by kind, and standards as records. */
function toSecondForm(db: Connection, options: OpenOptions): void {
  for (const table of ['memories', 'archived_memories', 'memory_links']) {
    db.exec(`ALTER TABLE ${table} ADD COLUMN rest TEXT NOT NULL DEFAULT '{}'`);
  }
  // The rules that run below read them.
  for (const column of Object.values(LINK_COLUMNS)) db.exec(`ALTER TABLE memory_links ADD COLUMN ${column}`);
  for (const table of Object.keys(COPIED)) setAside(db, table);
  db.exec('DROP TABLE namespace_digests');
  db.exec(REPLICA_TABLES);
  for (const [table, sql] of Object.entries(COPIED)) {
    db.exec(sql);
    dropAside(db, table);
  }
  const engine = engineOf(db, options);
  engine.log.begin();
  for (const { kind, namespace } of countedPlaces(db)) engine.digests.recount(kind, namespace);
  standardsOf(db, 'namespace_meta', engine);
  db.exec('DROP TABLE namespace_meta');
  engine.run(repairOf({ subjects: linksOfSeveralNodes(db) }));
  engine.quotas.flush();
  engine.digests.flush();
  engine.log.finish();
}

function countedPlaces(db: Connection): readonly { kind: string; namespace: string }[] {
  return db
    .prepare(
      `SELECT 'memory' AS kind, name AS namespace FROM namespaces WHERE ns_id IN (SELECT ns_id FROM memories)
       UNION SELECT 'link', namespace FROM memory_links`,
    )
    .all() as { kind: string; namespace: string }[];
}

/**
 * Before this form the later of two links won. Now both are versions, which are kept while neither has seen the other.
 */
function linksOfSeveralNodes(db: Connection): readonly Subject[] {
  const ids = db
    .prepare(
      `SELECT subject FROM operations WHERE kind = 'link' AND parked IS NULL
       GROUP BY subject HAVING count(DISTINCT origin) > 1`,
    )
    .pluck()
    .all() as string[];
  return ids.map((id) => ({ kind: 'link', id }));
}

interface OlderStandard {
  readonly namespace: string;
  readonly standard_id: string | null;
  readonly parent_namespace: string | null;
  readonly updated_at: Instant;
}

/** Standards were in no log; now they are, so they replicate. */
export function standardsOf(
  db: Connection,
  table: string,
  { mutations, context }: Pick<Engine, 'mutations' | 'context'>,
): void {
  const rows = db
    .prepare(
      `SELECT namespace, standard_id, parent_namespace, updated_at FROM "${table}"
       WHERE standard_id IS NOT NULL OR parent_namespace IS NOT NULL ORDER BY namespace`,
    )
    .all() as OlderStandard[];
  for (const { namespace, standard_id, parent_namespace, updated_at } of rows) {
    const said = { namespace, standard_id, parent_namespace, updated_at };
    const image: Standard = { ...said, set_by: null, operator_set: null, governance: null, rest: NO_REST };
    const subject = { kind: standardKind.name, id: namespace, namespace };
    mutations.apply(
      { mutation: 'write', ...subject, word: 'standard.put', seen: {}, before: null, image },
      context,
    );
  }
}

/** The parts of a writer, for upgrades that run inside their own transaction. */
export interface Engine {
  readonly log: OperationLog;
  readonly quotas: QuotaLedger;
  readonly digests: Digests;
  readonly mutations: Mutations;
  readonly context: DecisionContext;
  /** Runs a command, as the writer does; throws when its rule refuses it. */
  run<C extends Command>(command: C): OutcomeOf<C>;
}

/** Builds an engine over a database that is being upgraded. */
export function engineOf(
  db: Connection,
  { nowMs, crypto }: Pick<OpenOptions, 'nowMs' | 'crypto'>,
  kinds = KINDS,
): Engine {
  const context: DecisionContext = {
    nowMs,
    now: instantFromMs(nowMs),
    policy: DEFAULT_NODE_POLICY,
    kinds,
    ruleTrust: TRUST_ALL,
  };
  const log = new OperationLog(db, crypto, kinds);
  const quotas = new QuotaLedger(db);
  const digests = new Digests(db, crypto, new KindPages(kinds));
  const tables = new SubjectTables(db, kinds, quotas, digests, log);
  const mutations = new Mutations(db, log, quotas, digests, tables, null);
  const reads = new DecisionReads(db, quotas, log, digests, crypto, tables);
  const run = <C extends Command>(command: C): OutcomeOf<C> => {
    const apply = (all: readonly Mutation[]) => {
      for (const mutation of all) mutations.apply(mutation, context);
    };
    const decision = runDecision(command, context, CHAIN, (request) =>
      request.read === 'after' ? apply(request.mutations) : reads.answer(request, context),
    );
    if (!decision.ok) throw new Error(`${command.kind}: ${decision.error.message}`);
    apply(decision.value.mutations);
    return decision.value.value as OutcomeOf<C>;
  };
  return { log, quotas, digests, mutations, context, run };
}
