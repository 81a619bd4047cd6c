import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { loadMachineIdentity } from '../../../node/identity/machine-key.js';
import type { MeshStatusAnswer } from '../../../node/mesh/mesh-answers.js';
import { systemRandom } from '../../../node/seams.js';
import { cleanEnvironment, freePort, MAIN, temporaryFolder } from '../../support/daemon-process.js';
import { auditLog } from '../../support/log-audit.js';
import { openBeside } from '../../support/test-store.js';
import { event, untilAnswer } from '../../support/wait.js';
import { run } from './cli-process.js';

const LOST = 'peer-0011223344556677';

/** A home with its peer id and commands that answer JSON. */
function node(name: string) {
  const home = temporaryFolder(name);
  const { peerId } = loadMachineIdentity(join(home, 'keys'), systemRandom);
  const adopt = async (...words: string[]) => {
    const { code, out, err } = await run(home, ['mesh', 'adopt', ...words, '--json']);
    const text = code === 0 ? out : err;
    const json = text.split('\n').find((line) => line.startsWith('{'));
    return { code, err, answer: JSON.parse(json ?? 'null') as Record<string, unknown> };
  };
  return { home, peerId, adopt };
}

const statusOf = async (port: number) =>
  (await (await fetch(`http://127.0.0.1:${port}/api/v1/mesh/status`)).json()) as MeshStatusAnswer;

/** Enrols the key of one node at another by hand. */
async function enrol(home: string, peer: ReturnType<typeof node>) {
  const pub = join(peer.home, 'keys', 'daemon.pub');
  const { code, err } = await run(home, ['identity', 'import', '--agent-id', peer.peerId, '--pub', pub]);
  assert.equal(code, 0, err);
}

describe('mesh adopt', { timeout: 120_000 }, () => {
  it('refuses what is no peer, a node without a mesh, and a peer that nobody knows', async () => {
    const { home, adopt, peerId } = node('adopt-none');
    const wrong = await adopt('peer-1');
    assert.deepEqual([wrong.code, wrong.answer['code']], [2, 'VALIDATION_FAILED']);
    const alone = await adopt(LOST);
    assert.deepEqual([alone.code, alone.answer['code']], [1, 'NOT_FOUND']);
    assert.match(String(alone.answer['error']), /belongs to no mesh/);
    const own = await adopt(peerId);
    assert.deepEqual([own.code, own.answer['code']], [1, 'CONFLICT']);
    assert.match(String(own.answer['error']), /is already the home/);
    const url = 'https://127.0.0.1:1';
    assert.equal((await run(home, ['mesh', 'init', '--url', url])).code, 0);
    const unknown = await adopt(LOST);
    assert.deepEqual([unknown.code, unknown.answer['code']], [1, 'NOT_FOUND']);
    assert.match(String(unknown.answer['error']), /does not know peer-0011223344556677/);
    const bound = await run(home, ['mesh', 'adopt', LOST, '--json'], { env: { SVC_AGENT_ID: 'ai:one' } });
    assert.match(bound.err, /ADMIN_REQUIRED/);
  });

  it('takes over the subjects of an enrolled peer once, under the next number, in the audit chain', async () => {
    const [here, lost] = [node('adopt-here'), node('adopt-lost')];
    await enrol(here.home, lost);
    const first = await here.adopt(lost.peerId);
    assert.equal(first.code, 0, first.err);
    assert.deepEqual(first.answer, {
      adopted: true,
      peer_id: lost.peerId,
      home: here.peerId,
      homes: [{ peer_id: lost.peerId, number: 1 }],
    });
    assert.match(first.err, /daemon of this node does not run/);
    const again = await here.adopt(lost.peerId);
    assert.deepEqual([again.code, again.answer['code']], [1, 'CONFLICT']);
    assert.deepEqual(auditLog(join(here.home, 'mnemesh.db')), []);
    const db = openBeside({ home: here.home });
    const events = db
      .prepare("SELECT payload FROM signed_events WHERE event_type = 'mesh.adopted'")
      .pluck()
      .all();
    db.close();
    assert.equal(events.length, 1);
    assert.deepEqual((JSON.parse(events[0] as string) as { peer: string }).peer, lost.peerId);
  });

  it('asks for --yes while the daemon hears the peer', async () => {
    const [here, other] = [node('adopt-up'), node('adopt-other')];
    await enrol(here.home, other);
    await enrol(other.home, here);
    const ports = [await freePort(), await freePort()];
    const children: ChildProcess[] = [here, other].map(({ home }, index) => {
      const peers = `http://127.0.0.1:${ports[1 - index]}`;
      const words = ['serve', '--port', String(ports[index]), '--quorum-peers', peers];
      const env = cleanEnvironment(home, { SVC_LOG_LEVEL: 'error' });
      return spawn(process.execPath, [MAIN, ...words], { env, stdio: ['ignore', 'ignore', 'inherit'] });
    });
    try {
      await untilAnswer(
        'the daemon has heard the peer',
        () => statusOf(ports[0]!).catch(() => null),
        (status) => status?.replication?.peers[0]?.lastAnswerAt != null,
        { withinMs: 60_000 },
      );
      const port = ['--port', String(ports[0])];
      const warned = await here.adopt(other.peerId, ...port);
      assert.deepEqual([warned.code, warned.answer['code']], [1, 'CONFLICT']);
      assert.match(String(warned.answer['error']), /answered at 20.*both decide.*--yes/);
      const done = await here.adopt(other.peerId, ...port, '--yes');
      assert.deepEqual([done.code, done.answer['home'], done.err], [0, here.peerId, '']);
    } finally {
      for (const child of children) {
        child.kill('SIGTERM');
        if (child.exitCode === null && child.signalCode === null) await event('the node ends', child, 'exit');
      }
    }
  });
});
