// Runs alone: it measures time.
import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { loadMachineIdentity } from '../../node/identity/machine-key.js';
import type { MeshStatusAnswer } from '../../node/mesh/mesh-answers.js';
import { systemRandom } from '../../node/seams.js';
import type { Connection } from '../../storage/sql/connection.js';
import {
  type DaemonProcess,
  freePort,
  startDaemonProcess,
  temporaryFolder,
} from '../support/daemon-process.js';
import { openBeside } from '../support/test-store.js';
import { untilAnswer } from '../support/wait.js';

interface Node {
  readonly home: string;
  readonly port: number;
  readonly peerId: string;
}

const NAMESPACES = 8000;
const PATIENT = { withinMs: 120_000, everyMs: 250 } as const;
const nameOf = (index: number) => `team/${index}/${'n'.repeat(200 - String(index).length)}`;
const running = new Map<Node, DaemonProcess>();

async function node(): Promise<Node> {
  const home = temporaryFolder('m6');
  const { peerId } = loadMachineIdentity(join(home, 'keys'), systemRandom);
  return { home, port: await freePort(), peerId };
}

async function start(at: Node, peer: Node): Promise<void> {
  copyFileSync(join(peer.home, 'keys', 'daemon.pub'), join(at.home, 'keys', `${peer.peerId}.pub`));
  const flags = ['--quorum-peers', `http://127.0.0.1:${peer.port}`, '--catchup-interval-secs', '1'];
  running.set(at, await startDaemonProcess(at.home, at.port, { SVC_API_KEY: 'a-key-of-both' }, flags));
}

const ask = async <T>({ port }: Node, path: string, body?: object): Promise<T> => {
  const answer = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'x-api-key': 'a-key-of-both', 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  assert.ok(answer.ok, `${path}: ${answer.status}`);
  return (await answer.json()) as T;
};

const rowsOf = (status: MeshStatusAnswer) => status.replication?.peers[0]?.rows;

function inDatabase<T>({ home }: Node, use: (db: Connection) => T): T {
  const db = openBeside({ home });
  try {
    return use(db);
  } finally {
    db.close();
  }
}

describe('two daemons with 8,000 namespaces of 206 characters', () => {
  after(() => Promise.all([...running.values()].map((daemon) => daemon.end('SIGTERM'))));

  it('find and repair a row that one of them lost', { timeout: 300_000 }, async (context) => {
    const [one, two] = [await node(), await node()];
    await start(one, two);
    await start(two, one);
    for (let from = 0; from < NAMESPACES; from += 1000) {
      const memories = Array.from({ length: 1000 }, (_, index) => ({
        ...{ title: 'note', content: `of ${from + index}` },
        namespace: nameOf(from + index),
      }));
      await ask(one, '/memories/bulk', memories);
    }
    const count = (at: Node) =>
      inDatabase(at, (db) => db.prepare('SELECT count(*) FROM memories').pluck().get() as number);
    await untilAnswer(
      'both have all',
      async () => count(two),
      (rows) => rows === NAMESPACES,
      PATIENT,
    );
    await running.get(two)!.end('SIGTERM');
    inDatabase(two, (db) => {
      db.prepare('DELETE FROM memories WHERE namespace = ?').run(nameOf(4711));
      db.prepare('UPDATE namespace_digests SET digest = zeroblob(32) WHERE namespace = ?').run(nameOf(4711));
    });
    assert.equal(count(two), NAMESPACES - 1);
    await start(two, one);
    const beganMs = performance.now();
    await untilAnswer(
      'the row is back',
      async () => count(two),
      (rows) => rows === NAMESPACES,
      PATIENT,
    );
    context.diagnostic(`repaired ${Math.round(performance.now() - beganMs)} ms after the start`);
    await untilAnswer(
      'they are equal',
      () => ask<MeshStatusAnswer>(two, '/mesh/status'),
      (status) => rowsOf(status) === 'equal',
      PATIENT,
    );
    const { compared } = await ask<MeshStatusAnswer>(one, '/mesh/status?compare=true');
    assert.deepEqual(
      compared?.map(({ equal, problem }) => [equal, problem]),
      [[true, null]],
    );
  });
});
