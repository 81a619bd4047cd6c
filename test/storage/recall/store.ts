import type { Viewer } from '../../../protocol/base/viewer.js';
import type { RecallRequest, VectorEvidence } from '../../../protocol/memory/recall-request.js';
import { SCHEMA } from '../../../storage/sql/schema.js';
import { TextIndex } from '../../../storage/sql/text-index.js';
import { openSqlite } from '../../../storage/sqlite/open-sqlite.js';

export const EVERYBODY: Viewer = { all: true, agentId: null, asNamespace: null };
export const NOW = '2026-11-21T12:00:00.000Z';

export interface TestRow {
  readonly namespace?: string;
  readonly title: string;
  readonly content: string;
  readonly tags?: readonly string[];
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly createdAt?: string;
  readonly expiresAt?: string;
  readonly kind?: string;
  readonly priority?: number;
  readonly tier?: string;
  readonly sourceUri?: string;
  readonly confidence?: number;
  readonly citations?: readonly unknown[];
  readonly atomisedInto?: number;
  readonly vector?: readonly number[];
  readonly conversation?: string;
  readonly turn?: number;
}

/** A small store in memory that is written with plain SQL. */
export class TestStore {
  readonly database = openSqlite(':memory:');
  readonly #insert;
  readonly #index;
  #added = 0;

  constructor() {
    this.database.exec(SCHEMA);
    this.#insert =
      this.database.prepare(`INSERT INTO memories (id, tier, namespace, title, content, tags, priority,
        created_at, updated_at, expires_at, metadata, memory_kind, source_uri, confidence, citations, atomised_into, rest, ns_id)
      VALUES (@id, @tier, @namespace, @title, @content, @tags, @priority, @created, @created, @expires, @metadata,
        @kind, @sourceUri, @confidence, @citations, @atomised, @rest, (SELECT ns_id FROM namespaces WHERE name = @namespace))`);
    this.#index = new TextIndex(this.database);
  }

  /** Adds rows in order and answers their rids. */
  add(...rows: readonly TestRow[]): number[] {
    return this.database.transaction(() => rows.map((row) => this.#addOne(row)))();
  }

  #addOne(row: TestRow): number {
    const namespace = row.namespace ?? 'global';
    this.database.prepare('INSERT INTO namespaces (name) VALUES (?) ON CONFLICT DO NOTHING').run(namespace);
    this.#added += 1;
    const { lastInsertRowid } = this.#insert.run({
      id: `${namespace} ${row.title} ${this.#added}`,
      tier: row.tier ?? 'mid',
      namespace,
      title: row.title,
      content: row.content,
      tags: JSON.stringify(row.tags ?? []),
      priority: row.priority ?? 5,
      created: row.createdAt ?? '2026-11-20T00:00:00.000Z',
      expires: row.expiresAt ?? null,
      metadata: JSON.stringify(row.metadata ?? {}),
      kind: row.kind ?? 'observation',
      sourceUri: row.sourceUri ?? null,
      confidence: row.confidence ?? 1,
      citations: JSON.stringify(row.citations ?? []),
      atomised: row.atomisedInto ?? null,
      rest:
        row.conversation === undefined
          ? '{}'
          : JSON.stringify({ conversation: row.conversation, turn: row.turn ?? 0 }),
    });
    const rid = Number(lastInsertRowid);
    const { ns_id } = this.database.prepare('SELECT ns_id FROM memories WHERE rid = ?').get(rid) as {
      ns_id: number;
    };
    const { title, content, tags = [] } = row;
    this.#index.add(rid, { title, content, tags: JSON.stringify(tags), ns_id });
    if (row.vector !== undefined) {
      const blob = Buffer.from(Float32Array.from(row.vector).buffer);
      this.database
        .prepare('INSERT INTO memory_embeddings (rid, feed, model, dim, vectors) VALUES (?, ?, ?, ?, ?)')
        .run(rid, rid, 'test', 2, blob);
    }
    return rid;
  }
}

export const request = (query: string, changes: Partial<RecallRequest> = {}): RecallRequest => ({
  query,
  namespace: null,
  limit: 10,
  tags: [],
  since: null,
  until: null,
  kinds: null,
  viewer: EVERYBODY,
  now: NOW,
  vectors: null,
  ...changes,
});

/** Evidence of a two-dimensional index: `hits` as rid and cosine. */
export const vectors = (...hits: readonly (readonly [number, number])[]): VectorEvidence => ({
  queryVector: Float32Array.from([1, 0]),
  hits: hits.map(([rid, cosine]) => ({ rid, cosine })),
  mean: 0.1,
  deviation: 0.2,
  scanned: 10,
});
