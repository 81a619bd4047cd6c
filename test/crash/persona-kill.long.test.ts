import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import {
  type DaemonProcess,
  freePort,
  startDaemonProcess,
  temporaryFolder,
} from '../support/daemon-process.js';
import { auditLog } from '../support/log-audit.js';
import { ModelServer } from '../support/model-server.js';
import { openBeside } from '../support/test-store.js';
import { until } from '../support/wait.js';

type Fields = Record<string, unknown>;

const DONE_WITHIN_MS = 60_000;
/** The numbers of the first versions. */
const versions = (count: number) => Array.from({ length: count }, (_one, at) => at + 1);

describe('SIGKILL while a job writes a persona', { timeout: 240_000 }, () => {
  it('writes one persona for each reflection, whatever step it comes before', async () => {
    const model = await ModelServer.start();
    model.says = 'They buy on Mondays.[^1]';
    const home = temporaryFolder('persona-kill');
    const port = await freePort();
    let daemon: DaemonProcess = await startDaemonProcess(home, port, model.environment);
    const path = join(home, 'mnemesh.db');
    const db = openBeside({ path });
    const post = async (place: string, body: Fields) => {
      const answer = await fetch(`${daemon.base}${place}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-agent-id': 'ai:seller' },
        body: JSON.stringify(body),
      });
      const said = (await answer.json()) as Fields;
      assert.ok(answer.ok, JSON.stringify(said));
      return said;
    };
    const killed = async () => {
      await daemon.end('SIGKILL');
      daemon = await startDaemonProcess(home, port, model.environment);
    };
    const personas = () =>
      db
        .prepare(
          "SELECT persona_version FROM memories WHERE memory_kind = 'persona' ORDER BY persona_version",
        )
        .pluck()
        .all();
    const states = () => db.prepare("SELECT state FROM jobs WHERE type = 'persona'").pluck().all();
    const allDone = async (count: number) => {
      await until('every job is done', () => states().every((state) => state === 'done'), {
        withinMs: DONE_WITHIN_MS,
        seen: () => JSON.stringify(db.prepare('SELECT * FROM jobs').all()),
      });
      assert.deepEqual([states().length, personas()], [count, versions(count)]);
    };
    try {
      const { id: note } = await post('/memories', { title: 'note', content: 'orders', namespace: 'sales' });
      const governance = { write: 'any', auto_persona_trigger_every_n_memories: 1 };
      await post('/namespaces/sales/standard', { id: note, governance });
      let thoughts = 0;
      const reflect = () => {
        thoughts += 1;
        const said = { title: `thought ${thoughts}`, content: 'buys on Mondays', entity_id: 'customer-7' };
        return post('/memory_reflect', { source_ids: [note], ...said });
      };

      // At once after the answer.
      await reflect();
      await killed();
      await allDone(1);

      // The model has the question and does not answer.
      model.mood = 'hang';
      const asked = model.asked.length;
      await reflect();
      await until('the model is asked', () => model.asked.length > asked);
      model.mood = 'fine';
      await killed();
      await allDone(2);

      // The persona is stored, and the job is not marked as done.
      db.exec(
        "CREATE TRIGGER not_done BEFORE UPDATE ON jobs WHEN new.state = 'done' BEGIN SELECT RAISE(ABORT, 'blocked by the test'); END",
      );
      const before = model.asked.length;
      await reflect();
      await until('the persona is stored', () => personas().length === 3, { everyMs: 1 });
      await killed();
      db.exec('DROP TRIGGER not_done');
      await allDone(3);
      assert.equal(model.asked.length, before + 1, 'the model is not asked again');
      assert.deepEqual(auditLog(path), []);
    } finally {
      db.close();
      await daemon.end('SIGTERM');
      await model.close();
    }
  });
});
