import assert from 'node:assert/strict';
import { auditDatabase } from '../../support/log-audit.js';
import { untilAnswer } from '../../support/wait.js';
import { type LinkRule, PASS } from './fault-proxy.js';
import { type DatabaseOfNode, ProcessNode } from './process-node.js';
import { ownerOfConnection } from './socket-owner.js';

const POLL_MS = 50;

/** Where nodes keep their rows, by their number; the others have a file in their home. */
export type Databases = Readonly<Record<number, DatabaseOfNode>>;

/** Real daemons on loopback, formed by the real commands, with faults between them. */
export class ProcessMesh {
  readonly nodes: ProcessNode[] = [];
  /** By `from>to`. */
  private readonly rules = new Map<string, LinkRule>();
  /** The longest time that a drain took, in milliseconds. */
  slowestDrainMs = 0;

  /** Forms and starts a mesh. */
  static async form(count: number, databases: Databases = {}): Promise<ProcessMesh> {
    const mesh = new ProcessMesh();
    for (let number = 0; number < count; number += 1) await mesh.add(databases[number]);
    return mesh;
  }

  /** Makes a node without letting it join. */
  async make(database?: DatabaseOfNode): Promise<ProcessNode> {
    const name = `n${this.nodes.length}`;
    const node = await ProcessNode.make(
      name,
      {
        sourceOf: (fromPort, proxyPort) => this.sourceOf(fromPort, proxyPort),
        ruleOf: (source) => this.rules.get(`${source}>${name}`) ?? PASS,
      },
      database,
    );
    this.nodes.push(node);
    return node;
  }

  async add(database?: DatabaseOfNode): Promise<ProcessNode> {
    const node = await this.make(database);
    await this.join(node);
    await node.start();
    return node;
  }

  /** Makes the mesh with the first node, and lets every other one in. */
  async join(node: ProcessNode, flags: readonly string[] = []): Promise<void> {
    const first = this.nodes[0]!;
    const args = node === first ? ['mesh', 'init'] : ['mesh', 'join', '-'];
    const token = node === first ? '' : await first.must(['mesh', 'invite']);
    const out = await node.must([...args, ...node.place, ...flags, '--json'], token.trim());
    node.peerId = (JSON.parse(out) as { peer_id: string }).peer_id;
  }

  get live(): ProcessNode[] {
    return this.nodes.filter(({ up }) => up);
  }

  /** Sets what happens on the way from one node to another. */
  rule(from: ProcessNode, to: ProcessNode, rule: LinkRule): void {
    this.rules.set(`${from.name}>${to.name}`, rule);
    to.proxy.changed();
  }

  /** Both ways between a node and all others. */
  isolate(node: ProcessNode, rule: LinkRule): void {
    for (const other of this.nodes) {
      if (other === node) continue;
      this.rule(node, other, rule);
      this.rule(other, node, rule);
    }
  }

  heal(): void {
    this.rules.clear();
    for (const { proxy } of this.nodes) proxy.changed();
  }

  /**
   * Ends every fault, starts who is down, and waits until all roots are equal; nobody may write meanwhile. Answers the
   * milliseconds since all were up.
   */
  async drain(withinMs: number): Promise<number> {
    this.heal();
    for (const node of this.nodes) {
      if (node.frozen) node.thaw();
      if (node.daemon === null) await node.start();
    }
    const beganMs = performance.now();
    const roots = await untilAnswer(
      'all roots are equal',
      () => Promise.all(this.nodes.map((node) => node.cli(['mesh', 'verify', '--json']))),
      (answers) => answers.every(({ code }) => code === 0),
      { withinMs, everyMs: POLL_MS, seen: () => this.errors() },
    );
    const tookMs = Math.round(performance.now() - beganMs);
    for (const { out } of roots) assert.equal((JSON.parse(out) as { equal: boolean }).equal, true, out);
    this.slowestDrainMs = Math.max(this.slowestDrainMs, tookMs);
    return tookMs;
  }

  /** Ends every daemon in good order, and holds each database against its log. */
  async end(): Promise<void> {
    for (const node of this.nodes) {
      const errors = node.daemon?.errors;
      const code = await node.end('SIGTERM');
      assert.equal(code, 0, `${node.name} ended with ${code}: ${errors?.()}`);
      await node.proxy.close();
    }
    for (const node of this.nodes) {
      const db = node.openBeside();
      try {
        assert.deepEqual(auditDatabase(db), [], node.name);
      } finally {
        db.close();
      }
      assert.deepEqual(node.bugs, [], node.name);
    }
  }

  /** Ends what still runs, whatever the test came to. */
  async close(): Promise<void> {
    for (const node of this.nodes) {
      await node.end('SIGKILL');
      await node.proxy.close();
    }
  }

  /** The last words of each daemon. */
  errors(): string {
    return this.nodes.map(({ name, daemon }) => `${name}: ${daemon?.errors().slice(-3000)}`).join('\n');
  }

  private sourceOf(fromPort: number, proxyPort: number): string | null {
    const pids = this.nodes.flatMap(({ pid }) => pid ?? []);
    const pid = ownerOfConnection(fromPort, proxyPort, pids);
    return this.nodes.find((node) => pid !== null && node.pid === pid)?.name ?? null;
  }
}
