import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { runJobsHere } from '../../node/jobs/run-here.js';
import type { CycleReport } from '../../node/operations/curator/cycle-report.js';
import { failed, failure, type Result } from '../../protocol/base/result.js';
import { CURATOR } from '../../protocol/curation/curator.js';
import type { Command, OutcomeOf } from '../../protocol/release.js';
import { PassingStore } from '../../storage/passing-store.js';
import type { CallOptions, Store } from '../../storage/port.js';
import { CuratorNode, WINDOW, WINDOW_AGAIN } from '../support/curator-node.js';
import { freePort, startDaemonProcess, temporaryFolder } from '../support/daemon-process.js';
import { auditLog } from '../support/log-audit.js';
import { type ModelAsked, ModelServer } from '../support/model-server.js';
import { openBeside } from '../support/test-store.js';
import { until } from '../support/wait.js';

const OLD_WAY =
  'The invoices of the customers are printed on paper by the printers of the office in Bern each Monday.';
const NEW_WAY =
  'The invoices of the customers are printed on paper by the printers of the office in Basel each Monday.';

const answers = ({ system }: ModelAsked): string => {
  if (system.startsWith('You tag')) return 'billing';
  if (system.startsWith('You compare')) return 'no';
  return `${WINDOW_AGAIN} Really.`;
};
/** Printed invoices contradict each other. */
const answersOf = (asked: ModelAsked): string =>
  asked.system.startsWith('You compare') && asked.prompt.includes('Basel') ? 'yes' : answers(asked);

/** A store that is gone after some commands, as for a process that was killed. */
class DyingStore extends PassingStore {
  left: number;
  constructor(store: Store, commands: number) {
    super(store);
    this.left = commands;
  }

  async execute<C extends Command>(command: C, options?: CallOptions): Promise<Result<OutcomeOf<C>>> {
    if (this.left <= 0) return failed(failure('SHUTTING_DOWN', 'killed'));
    this.left -= 1;
    return this.store.execute(command, options);
  }
}

async function filled(model: ModelServer): Promise<CuratorNode> {
  const node = await CuratorNode.open(model);
  await node.store('ai:ann', 'a', WINDOW);
  await node.store('ai:ann', 'b', WINDOW_AGAIN);
  await node.store('ai:ann', 'c', OLD_WAY);
  await node.store('ai:ann', 'd', NEW_WAY);
  await node.old(40, 'dead', WINDOW, { namespace: 'elsewhere' });
  return node;
}

const facts = ({ started_at: _s, completed_at: _c, cycle_duration_ms: _d, ...rest }: CycleReport) => rest;

const counted = (node: CuratorNode) => ({
  joined: node.rows("source = 'consolidation'").length,
  records: node
    .rows("namespace = '_curator/rollback'")
    .map(({ title }) => String(title).split(' ')[1])
    .sort(),
  reports: node.rows("namespace = '_curator/reports'").length,
  archived: node.db.prepare('SELECT count(*) FROM archived_memories').pluck().get(),
  priority: node.rows("namespace = 'elsewhere'").map(({ priority }) => priority),
});

describe('a cycle whose process ends', { timeout: 300_000 }, () => {
  it('goes on and does nothing twice, whichever command it ends before, and its report is true', async () => {
    const model = await ModelServer.start();
    model.says = answersOf;
    let expected: object | null = null;
    try {
      for (let commands = Number.POSITIVE_INFINITY; ; ) {
        const node = await filled(model);
        try {
          const id = await node.begin();
          const store = new DyingStore(node.node.services.store, commands);
          const lane = { type: 'curator', caller: CURATOR, takesOver: true } as const;
          await runJobsHere({ ...node.node.services, store }, lane, new AbortController().signal);
          const died = store.left <= 0;
          if (died) await node.work();
          const said = { report: facts(node.report(id)), ...counted(node) };
          expected ??= said;
          assert.deepEqual(said, expected, `killed after ${commands} commands`);
          if (commands !== Number.POSITIVE_INFINITY && !died) break;
        } finally {
          await node.close();
        }
        // Every third command, so that each kind of step is cut off somewhere; the first ones all.
        commands = commands === Number.POSITIVE_INFINITY ? 1 : commands + (commands < 8 ? 1 : 3);
      }
    } finally {
      await model.close();
    }
    assert.deepEqual((expected as unknown as ReturnType<typeof counted>).records, [
      ...['consolidate', 'forget', 'priority_adjust'],
    ]);
  });

  it('is taken over by another process, and the first one stores nothing more', async () => {
    const model = await ModelServer.start();
    const node = await filled(model);
    const other = await node.another();
    try {
      let release: () => void = () => undefined;
      const gate = new Promise<void>((resolve) => {
        release = resolve;
      });
      model.says = answersOf;
      const id = await node.begin();
      const { services } = node.node;
      class Slow extends PassingStore {
        commands = 0;
        async execute<C extends Command>(command: C, options?: CallOptions): Promise<Result<OutcomeOf<C>>> {
          this.commands += 1;
          if (this.commands === 12) await gate;
          return this.store.execute(command, options);
        }
      }
      const lane = { type: 'curator', caller: CURATOR, takesOver: true } as const;
      const slow = new Slow(services.store);
      const first = runJobsHere({ ...services, store: slow }, lane, new AbortController().signal);
      await until('the first one is held', () => slow.commands >= 12);
      await node.work(other);
      const report = node.report(id);
      const after = counted(node);
      release();
      await first;
      assert.deepEqual([counted(node), facts(node.report(id))], [after, facts(report)]);
      assert.deepEqual([after.joined, after.reports], [1, 1]);
    } finally {
      await other.close();
      await node.close();
      await model.close();
    }
  });

  it('goes on in the next daemon after SIGKILL, again and again', async () => {
    const model = await ModelServer.start();
    model.says = answersOf;
    const home = temporaryFolder('curator-kill');
    const port = await freePort();
    const env = { ...model.environment, SVC_CURATOR_ENABLED: '1', SVC_CURATOR_INTERVAL_SECS: '86400' };
    let daemon = await startDaemonProcess(home, port, { ...model.environment });
    const db = openBeside({ home });
    try {
      for (const [at, content] of [WINDOW, WINDOW_AGAIN, OLD_WAY, NEW_WAY].entries()) {
        const response = await fetch(`${daemon.base}/memories`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-agent-id': 'ai:ann' },
          body: JSON.stringify({ title: `note ${at}`, content, tier: 'long' }),
        });
        assert.equal(response.status, 201, await response.text());
      }
      await daemon.end('SIGTERM');
      daemon = await startDaemonProcess(home, port, env);
      const job = () =>
        db.prepare("SELECT state, result, runs, steps FROM jobs WHERE type = 'curator'").get() as
          | { state: string; result: string; runs: number; steps: string }
          | undefined;
      const steps = () => Object.keys(JSON.parse(job()?.steps ?? '{}') as object).length;
      for (const reached of [1, 2, 4]) {
        await until('the cycle is so far', () => steps() >= reached || job()?.state === 'done', {
          withinMs: 60_000,
          everyMs: 1,
        });
        await daemon.end('SIGKILL');
        daemon = await startDaemonProcess(home, port, env);
      }
      await until('the cycle is done', () => job()?.state === 'done', { withinMs: 90_000 });
      const report = JSON.parse(job()!.result) as CycleReport;
      assert.deepEqual(
        [report.auto_tagged, report.autonomy.memories_consolidated, report.autonomy.memories_forgotten],
        [4, 2, 1],
        JSON.stringify(report),
      );
      assert.deepEqual([report.errors, report.autonomy.errors], [[], []]);
      const count = (where: string) =>
        db.prepare(`SELECT count(*) FROM memories WHERE ${where}`).pluck().get();
      assert.deepEqual(
        ["namespace = '_curator/reports'", "namespace = '_curator/rollback'", "source = 'consolidation'"].map(
          count,
        ),
        [1, 2, 1],
      );
    } finally {
      db.close();
      await daemon.end('SIGTERM');
      await model.close();
    }
    assert.deepEqual(auditLog(join(home, 'mnemesh.db')), []);
  });
});
