import assert from 'node:assert/strict';
import type { SettingFlags } from '../../node/config/load-settings.js';
import { runJobsHere } from '../../node/jobs/run-here.js';
import { curatorBegin, curatorPreview, curatorRollback } from '../../node/operations/curator/curator.js';
import type { CycleReport } from '../../node/operations/curator/cycle-report.js';
import { memoryImport } from '../../node/operations/lifecycle/memory-import.js';
import type { Answer } from '../../node/pipeline/answer.js';
import type { Operation } from '../../node/pipeline/operation.js';
import { runOperation } from '../../node/pipeline/pipeline.js';
import { type InlineNode, openInlineNode } from '../../node/runtime/inline-node.js';
import { CURATOR } from '../../protocol/curation/curator.js';
import type { Connection } from '../../storage/sql/connection.js';
import {
  agent,
  type Fields,
  OPERATOR_CALLER,
  type Session,
  sessionOf,
} from '../coordination/coordination-node.js';
import { settingsFor } from '../node/runtime/support.js';
import { temporaryFolder } from './daemon-process.js';
import type { ModelServer } from './model-server.js';
import { openBeside } from './test-store.js';

/** Two notes that say nearly the same, and what joins them. */
export const WINDOW =
  'The deploy window of the billing service is on Sundays, from two to four in the morning, after the backup.';
export const WINDOW_AGAIN = `${WINDOW} Nobody else may deploy then.`;

/** A node whose curator is run by a command. */
export class CuratorNode {
  private constructor(
    readonly home: string,
    private readonly flags: SettingFlags,
    public node: InlineNode,
    readonly db: Connection,
  ) {}

  static async open(model: ModelServer | null, more: SettingFlags = {}): Promise<CuratorNode> {
    const llm =
      model === null
        ? {}
        : ({ llmBackend: 'local-native', llmBaseUrl: model.url, llmModel: 'scripted' } as const);
    const flags = { requireAttestation: false, ...llm, ...more };
    const home = temporaryFolder('curator');
    const node = await openInlineNode(settingsFor(home, flags), 'cli');
    return new CuratorNode(home, flags, node, openBeside({ home }));
  }

  /** Another process on the same database. */
  another(): Promise<InlineNode> {
    return openInlineNode(settingsFor(this.home, this.flags), 'cli');
  }

  as(agentId: string): Session {
    return sessionOf(this.node.services, agent(agentId));
  }

  call(operation: Operation, input: Fields, caller = OPERATOR_CALLER): Promise<Answer> {
    return runOperation(
      operation,
      { surface: 'cli', caller, input, unknownFields: 'refuse' },
      this.node.services,
    );
  }

  async store(agentId: string, title: string, content: string, more: Fields = {}): Promise<string> {
    const stored = await this.as(agentId).run('memory_store', { title, content, tier: 'long', ...more });
    return String(stored['id']);
  }

  /** A memory of so many days ago. */
  async old(days: number, title: string, content: string, more: Fields = {}): Promise<string> {
    const id = this.node.services.random.uuid();
    const at = new Date(Date.now() - days * 86_400_000).toISOString();
    const memory = { id, title, content, tier: 'long', created_at: at, updated_at: at, ...more };
    const memories = [{ ...memory, metadata: { agent_id: 'ai:ann' } }];
    const answer = await this.call(memoryImport, { memories, trust_source: true });
    assert.ok(answer.ok && answer.value['imported'] === 1, JSON.stringify(answer));
    return id;
  }

  async begin(asked: Fields = {}): Promise<string> {
    const begun = await this.call(curatorBegin, asked);
    assert.ok(begun.ok, JSON.stringify(begun));
    return String(begun.value['id']);
  }

  async work(node = this.node, signal = new AbortController().signal): Promise<void> {
    const done = await runJobsHere(
      node.services,
      { type: 'curator', caller: CURATOR, takesOver: true },
      signal,
    );
    assert.ok(done.ok, JSON.stringify(done));
  }

  job(id: string): Fields {
    return this.db.prepare('SELECT * FROM jobs WHERE id = ?').get(id) as Fields;
  }

  report(id: string): CycleReport {
    const job = this.job(id);
    assert.equal(job['state'], 'done', JSON.stringify(job));
    return JSON.parse(String(job['result'])) as CycleReport;
  }

  async cycle(asked: Fields = {}): Promise<CycleReport> {
    const id = await this.begin(asked);
    await this.work();
    return this.report(id);
  }

  async preview(asked: Fields = {}): Promise<CycleReport> {
    const answer = await this.call(curatorPreview, asked);
    assert.ok(answer.ok, JSON.stringify(answer));
    return answer.value as CycleReport;
  }

  async rollBack(asked: Fields): Promise<Fields> {
    const answer = await this.call(curatorRollback, asked);
    assert.ok(answer.ok, JSON.stringify(answer));
    return answer.value;
  }

  rows(where: string, ...given: unknown[]): Fields[] {
    return (
      this.db.prepare(`SELECT * FROM memories WHERE ${where} ORDER BY rid`).all(...given) as Fields[]
    ).map((row) => ({ ...row, metadata: JSON.parse(String(row['metadata'])) as unknown }));
  }

  /** A memory as its author and its readers know it. */
  plain(id: string): Fields | null {
    const [row] = this.rows('id = ?', id);
    if (row === undefined) return null;
    const {
      title,
      content,
      tags,
      priority,
      tier,
      namespace,
      metadata,
      created_at,
      expires_at,
      access_count,
    } = row;
    return {
      id,
      title,
      content,
      tags,
      priority,
      tier,
      namespace,
      metadata,
      created_at,
      expires_at,
      access_count,
    };
  }

  metadataOf(id: string): Fields {
    return this.rows('id = ?', id)[0]!['metadata'] as Fields;
  }

  /** What every table says that replicates. */
  operations(): number {
    return this.db.prepare('SELECT count(*) FROM operations').pluck().get() as number;
  }

  async close(): Promise<void> {
    this.db.close();
    await this.node.close();
  }
}
