import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type DaemonProcess,
  freePort,
  startDaemonProcess,
  temporaryFolder,
} from '../../support/daemon-process.js';
import { openBeside } from '../../support/test-store.js';

type Row = Record<string, unknown>;

const APPROVERS = 64;
const KILLS = 6;
const approver = (n: number) => `ai:approver-${n}`;

async function call(daemon: DaemonProcess, agent: string, method: string, path: string, body?: unknown) {
  const response = await fetch(`${daemon.base}${path}`, {
    method,
    headers: { 'content-type': 'application/json', 'x-agent-id': agent },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Row };
}

async function begin(label: string, approvers: number): Promise<DaemonProcess> {
  const daemon = await startDaemonProcess(temporaryFolder(label), await freePort());
  for (let n = 0; n < approvers; n += 1) {
    const registered = { agent_id: approver(n), agent_type: 'ai:test' };
    assert.ok((await call(daemon, approver(n), 'POST', '/agents', registered)).status < 300);
  }
  const governance = { write: 'approve' };
  assert.equal(
    (await call(daemon, 'ai:owner', 'POST', '/namespaces/ask/standard', { governance })).status,
    201,
  );
  return daemon;
}

async function waiting(daemon: DaemonProcess, title: string): Promise<string> {
  const memory = { namespace: 'ask', title, content: 'c' };
  const { status, body } = await call(daemon, 'ai:coder', 'POST', '/memories', memory);
  assert.equal(status, 202);
  return String(body['pending_id']);
}

/** How often the log says that a memory was stored, and what its action is. */
function executed(home: string, title: string): { stores: number; status: string } {
  const db = openBeside({ home });
  const stores = db
    .prepare(`SELECT count(*) FROM operations WHERE kind = 'store' AND payload ->> '$.title' = ?`)
    .pluck()
    .get(title) as number;
  const status = db
    .prepare(
      `SELECT payload ->> '$.status' FROM records
       WHERE kind = 'pending' AND payload ->> '$.command.memory.title' = ?`,
    )
    .pluck()
    .get(title) as string;
  db.close();
  return { stores, status };
}

describe('an action that is approved', { timeout: 120_000 }, () => {
  it(`executes once when ${APPROVERS} agents approve it at the same time`, async () => {
    const daemon = await begin('approval-race', APPROVERS);
    try {
      for (let round = 0; round < 3; round += 1) {
        const title = `round ${round}`;
        const id = await waiting(daemon, title);
        const answers = await Promise.all(
          Array.from({ length: APPROVERS }, (_, n) =>
            call(daemon, approver(n), 'POST', `/pending/${id}/approve`),
          ),
        );
        assert.equal(answers.filter(({ status }) => status === 200).length, 1);
        const late = answers.filter(({ body }) => body['code'] === 'PENDING_ACTION_STATE_INVALID');
        assert.equal(late.length, APPROVERS - 1);
        assert.deepEqual(executed(daemon.home, title), { stores: 1, status: 'approved' });
      }
    } finally {
      await daemon.end('SIGTERM');
    }
  });

  it('executed if and only if it is decided, wherever the daemon was killed', async () => {
    let daemon = await begin('approval-kill', 1);
    const { home } = daemon;
    let cut = 0;
    for (let kill = 0; kill < KILLS; kill += 1) {
      const title = `kill ${kill}`;
      const id = await waiting(daemon, title);
      const answer = call(daemon, approver(0), 'POST', `/pending/${id}/approve`).catch(() => null);
      await new Promise((resolve) => setTimeout(resolve, kill * 2));
      await daemon.end('SIGKILL');
      const told = await answer;
      const { stores, status } = executed(home, title);
      if (told !== null) assert.equal(status, 'approved', 'what was answered stays');
      assert.equal(stores, status === 'approved' ? 1 : 0);
      if (status !== 'approved') cut += 1;
      daemon = await startDaemonProcess(home, await freePort());
      const again = await call(daemon, approver(0), 'POST', `/pending/${id}/approve`);
      assert.equal(again.status, status === 'approved' ? 409 : 200);
      assert.deepEqual(executed(home, title), { stores: 1, status: 'approved' });
    }
    await daemon.end('SIGTERM');
    assert.ok(cut > 0, 'a kill came before the decision');
  });
});
