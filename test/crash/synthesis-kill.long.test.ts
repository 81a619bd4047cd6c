import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { freePort, startDaemonProcess, temporaryFolder } from '../support/daemon-process.js';
import { auditLog } from '../support/log-audit.js';
import { ModelServer } from '../support/model-server.js';
import { openBeside } from '../support/test-store.js';
import { until } from '../support/wait.js';

const TEXT =
  'The deploy window is on Sundays, from two to four in the morning, and nobody else may deploy then.';

describe('SIGKILL while a synthesis changes memories', { timeout: 240_000 }, () => {
  it('asks the model once, and makes each change once, whatever step it comes before', async () => {
    const model = await ModelServer.start();
    let questions = 0;
    model.says = ({ system, prompt }) => {
      if (!system.includes('"verdicts"')) return 'tag';
      questions += 1;
      const ids = [...prompt.matchAll(/\(older note ([\w-]+)\)\n(\w+)/g)];
      const verdicts = ids.map(([, id, first]) =>
        first === 'Old'
          ? { id, verdict: 'delete' }
          : { id, verdict: 'update', content: `Merged: ${questions}` },
      );
      return JSON.stringify({ verdicts });
    };
    const home = temporaryFolder('synthesis-kill');
    const env = { ...model.environment, SVC_AUTONOMOUS_HOOKS: '1' };
    const port = await freePort();
    let daemon = await startDaemonProcess(home, port, env);
    const path = join(home, 'mnemesh.db');
    const db = openBeside({ path });
    const send = async (method: string, to: string, body: object) => {
      const headers = { 'content-type': 'application/json', 'x-agent-id': 'ai:deployer' };
      const response = await fetch(`${daemon.base}${to}`, { method, headers, body: JSON.stringify(body) });
      const said = (await response.json()) as { id: string };
      assert.ok(response.ok, JSON.stringify(said));
      return said.id;
    };
    const store = (title: string, content: string, namespace: string) =>
      send('POST', '/memories', { title, content, namespace });
    const job = (id: string) =>
      db.prepare("SELECT state, steps, result FROM jobs WHERE id LIKE 'synthesis:' || ? || ':%'").get(id) as
        | { state: string; steps: string; result: string }
        | undefined;
    const done = (id: string) =>
      until('the synthesis is done', () => job(id)?.state === 'done', {
        withinMs: 60_000,
        seen: () => JSON.stringify(db.prepare('SELECT * FROM jobs').all()),
      });
    const killed = async () => {
      await daemon.end('SIGKILL');
      daemon = await startDaemonProcess(home, port, env);
      db.exec("UPDATE jobs SET attempts = 0, due_at = created_at WHERE state = 'queued'");
    };
    const block = (name: string, before: string) =>
      db.exec(
        `CREATE TRIGGER ${name} BEFORE ${before} BEGIN SELECT RAISE(ABORT, 'blocked by the test'); END`,
      );
    /** Two memories, one that is rewritten and one that is deleted, and the one whose synthesis does that. */
    const three = async (namespace: string, prepare: () => void) => {
      const rewritten = await store('Deploy window', TEXT, namespace);
      const deleted = await store('Deploy window before', `Old. ${TEXT}`, namespace);
      const rules = await store('Rules', 'short', namespace);
      const governance = { write: 'any', synthesis_max_deletes_per_call: 1 };
      await send('POST', `/namespaces/${namespace}/standard`, { id: rules, governance });
      prepare();
      return { rewritten, deleted, fresh: await store('Deploy window now', `New. ${TEXT}`, namespace) };
    };
    const rows = (namespace: string) =>
      db
        .prepare(
          "SELECT title, substr(content, 1, 7) AS content FROM memories m JOIN namespaces n USING (ns_id) WHERE n.name = ? AND title <> 'Rules' ORDER BY title",
        )
        .all(namespace);
    try {
      let namespaces = 0;
      const changedOnce = async (prepare: () => void, kill: (fresh: string) => Promise<void>) => {
        namespaces += 1;
        const namespace = `n${namespaces}`;
        const asked = { before: 0 };
        const { fresh } = await three(namespace, () => {
          asked.before = questions;
          prepare();
        });
        await kill(fresh);
        await done(fresh);
        assert.equal(questions, asked.before + 1, 'the model is asked once');
        assert.deepEqual(rows(namespace), [
          { title: 'Deploy window', content: 'Merged:' },
          { title: 'Deploy window now', content: 'New. Th' },
        ]);
      };

      // The verdicts are kept, and nothing is changed.
      await changedOnce(
        () => block('no_change', 'DELETE ON memories'),
        async (fresh) => {
          await until('the verdicts are kept', () => (job(fresh)?.steps ?? '{}') !== '{}', { everyMs: 1 });
          await killed();
          db.exec('DROP TRIGGER no_change');
          db.exec("UPDATE jobs SET attempts = 0, due_at = created_at WHERE state = 'queued'");
        },
      );
      // All is changed, and the job is not marked as done.
      await changedOnce(
        () => block('not_done', "UPDATE ON jobs WHEN new.state = 'done' AND new.type = 'synthesis'"),
        async (fresh) => {
          const namespace = `n${namespaces}`;
          await until(
            'both are changed',
            () => JSON.stringify(rows(namespace)).includes('Merged') && rows(namespace).length === 2,
            {
              everyMs: 1,
            },
          );
          assert.notEqual(job(fresh)?.state, 'done');
          await killed();
          db.exec('DROP TRIGGER not_done');
        },
      );
      assert.deepEqual(auditLog(path), []);
    } finally {
      db.close();
      await daemon.end('SIGTERM');
      await model.close();
    }
  });
});
