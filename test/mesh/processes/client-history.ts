import type { ProcessNode } from './process-node.js';

/**
 * What a client was told. `replicated`: on W nodes. `local`: durable where it was written. `refused`: nothing happened.
 * `unknown`: no answer came, so either.
 */
export type Outcome = 'replicated' | 'local' | 'refused' | 'unknown';

interface Attempt {
  readonly node: ProcessNode;
  /** Which life of the node's database it was (ProcessNode.lives). */
  readonly life: number;
  readonly outcome: Outcome;
}

/** A store or an update; contents are never used twice. */
export interface Edit extends Attempt {
  readonly content: string;
}

/** All that clients tried on one memory. */
export interface ClientRow {
  readonly title: string;
  /** Null while no answer has said it. */
  id: string | null;
  readonly edits: Edit[];
  readonly deletes: Attempt[];
}

/** True for what must be there: a copy on W disks of which W-1 may be lost, or one on a disk that was not. */
export function isPromised({ outcome, node, life }: Attempt): boolean {
  return outcome === 'replicated' || (outcome === 'local' && node.lives === life);
}

/** One client after another wrote it through one node, whose disk is the same, and every answer came. */
export function isPlain({ edits, deletes }: ClientRow): boolean {
  const all = [...edits, ...deletes];
  const first = all[0];
  return all.every(
    ({ node, life, outcome }) => node === first?.node && node.lives === life && outcome !== 'unknown',
  );
}

export type Tally = Readonly<Record<Outcome, number>>;

/** What the clients of a mesh did, and what they were told. */
export class ClientHistory {
  readonly rows: ClientRow[] = [];
  /** Answers that no write may have. */
  readonly violations: string[] = [];
  private readonly counts: Record<Outcome, number> = { replicated: 0, local: 0, refused: 0, unknown: 0 };
  private contents = 0;

  /** A text that nobody wrote before. */
  freshText(padding = 0): string {
    this.contents += 1;
    return `text ${this.contents} ${'.'.repeat(padding)}`;
  }

  get tally(): Tally {
    return { ...this.counts };
  }

  get deleted(): number {
    return this.rows.filter(({ deletes }) => deletes.some(({ outcome }) => outcome === 'replicated')).length;
  }

  async store(node: ProcessNode, title: string, padding = 0): Promise<ClientRow> {
    const content = this.freshText(padding);
    const { life, outcome, body } = await this.send(node, 'POST', '/memories', { title, content });
    const id = typeof body?.['id'] === 'string' ? body['id'] : null;
    const row: ClientRow = { title, id, edits: [{ content, node, life, outcome }], deletes: [] };
    this.rows.push(row);
    return row;
  }

  async bulk(node: ProcessNode, titles: readonly string[]): Promise<void> {
    const memories = titles.map((title) => ({ title, content: this.freshText() }));
    const { life, outcome, body } = await this.send(node, 'POST', '/memories/bulk', memories);
    const results = (body?.['results'] ?? []) as { id?: string }[];
    memories.forEach(({ title, content }, index) => {
      const id = results[index]?.id ?? null;
      // A row that failed within a bulk was not written.
      const each = id === null && outcome !== 'unknown' ? 'refused' : outcome;
      this.rows.push({ title, id, edits: [{ content, node, life, outcome: each }], deletes: [] });
    });
  }

  async update(node: ProcessNode, row: ClientRow): Promise<Outcome> {
    const content = this.freshText();
    const { life, outcome } = await this.send(node, 'PUT', `/memories/${row.id}`, { content });
    row.edits.push({ content, node, life, outcome });
    return outcome;
  }

  async remove(node: ProcessNode, row: ClientRow): Promise<Outcome> {
    const { life, outcome } = await this.send(node, 'DELETE', `/memories/${row.id}`);
    row.deletes.push({ node, life, outcome });
    return outcome;
  }

  /** Notes what the command line or an MCP server wrote, which waits for nobody. */
  wroteLocally(node: ProcessNode, row: Pick<ClientRow, 'title' | 'id'>, content: string): ClientRow {
    const edit: Edit = { content, node, life: node.lives, outcome: 'local' };
    const written: ClientRow = { ...row, edits: [edit], deletes: [] };
    this.rows.push(written);
    return written;
  }

  private async send(node: ProcessNode, method: string, path: string, body?: object) {
    const life = node.lives;
    const { outcome, body: answer } = await ask(node, method, path, body);
    this.counts[outcome] += 1;
    if (outcome === 'replicated' && !(Number(answer?.['quorum_acks']) >= 2))
      this.violations.push(`${method} ${path} at ${node.name}: ${JSON.stringify(answer)}`);
    return { life, outcome, body: answer };
  }
}

/** Longer than a quorum takes; a node that is stopped does not answer at all. */
const ANSWER_WITHIN_MS = 5000;

async function ask(
  node: ProcessNode,
  method: string,
  path: string,
  body?: object,
): Promise<{ outcome: Outcome; body: Record<string, unknown> | null }> {
  try {
    const response = await fetch(`${node.base}${path}`, {
      method,
      headers: { 'content-type': 'application/json', 'x-agent-id': 'ai:client' },
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as Record<string, unknown>;
    return { outcome: outcomeOf(response.status), body: answer };
  } catch (error) {
    const { code } = ((error as Error).cause ?? {}) as { code?: string };
    return { outcome: code === 'ECONNREFUSED' ? 'refused' : 'unknown', body: null };
  }
}

const STORAGE_FULL = 507;

function outcomeOf(status: number): Outcome {
  if (status === 202) return 'local';
  if (status < 300) return 'replicated';
  return status < 500 || status === STORAGE_FULL ? 'refused' : 'unknown';
}
