import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { temporaryFolder } from '../../support/daemon-process.js';
import { drawSeed, underSeed } from '../../support/seed.js';
import { ClientHistory } from './client-history.js';
import { assertKept } from './fault-run.js';
import { ProcessMesh } from './process-mesh.js';
import type { ProcessNode } from './process-node.js';
import { Writers } from './writers.js';

const pause = (ms: number) => new Promise((resume) => setTimeout(resume, ms));
const DRAIN_WITHIN_MS = 30_000;

/** One disk is lost at a time, as W=2 allows; between two losses all nodes become equal. */
describe('a mesh of which one node loses its disk under 8 writers', () => {
  let mesh: ProcessMesh;
  const history = new ClientHistory();
  let writers: Writers;
  const seed = drawSeed();
  /** A test whose clients draw from the seed. */
  const drawn = (name: string, run: (context: TestContext) => Promise<void>) =>
    it(name, (context) => underSeed(() => run(context), seed));

  before(async () => {
    mesh = await ProcessMesh.form(3);
    writers = new Writers(mesh, history, seed);
    writers.start();
    await pause(400);
    await writers.stop();
    await mesh.drain(DRAIN_WITHIN_MS);
  });
  after(() => mesh.close());

  const drained = async () => {
    await pause(400);
    await writers.stop();
    await mesh.drain(DRAIN_WITHIN_MS);
    assertKept(mesh, history);
  };

  /** A copy of the database as it is now, and writes that it does not have. */
  async function copyAndWrite(node: ProcessNode): Promise<string> {
    const copy = temporaryFolder('copy');
    await node.end('SIGTERM');
    node.keepCopy(copy);
    await node.start();
    writers.start();
    await pause(700);
    await node.end('SIGKILL');
    return copy;
  }

  drawn('keeps what was replicated when a database is put back by a plain copy', async () => {
    const node = mesh.nodes[1]!;
    node.putBack(await copyAndWrite(node));
    await node.start();
    await drained();
  });

  drawn('keeps what the command line wrote into the copy before the daemon starts', async () => {
    const node = mesh.nodes[1]!;
    node.putBack(await copyAndWrite(node));
    for (const title of ['from the command line', 'and another']) {
      const content = history.freshText();
      const out = await node.must(['store', '--title', title, '--content', content, '--json']);
      const { id } = JSON.parse(out) as { id: string };
      history.wroteLocally(node, { title, id }, content);
    }
    await node.start();
    await drained();
  });

  drawn('keeps what a copy accepted while nobody could tell it that it was one', async () => {
    const node = mesh.nodes[2]!;
    const copy = await copyAndWrite(node);
    mesh.isolate(node, { kind: 'drop' });
    node.putBack(copy);
    await node.start();
    const alone = await history.store(node, 'written by a copy that was alone');
    assert.deepEqual(
      alone.edits.map(({ outcome }) => outcome),
      ['local'],
    );
    await drained();
  });

  drawn('fills an empty database of a node that has its keys', async () => {
    const node = mesh.nodes[2]!;
    writers.start();
    await pause(300);
    await node.end('SIGKILL');
    node.loseDatabase();
    await node.start();
    await drained();
  });

  drawn('fills a node that takes the place of one that is gone', async () => {
    const node = mesh.nodes[2]!;
    const gone = node.peerId;
    writers.start();
    await pause(300);
    await node.end('SIGKILL');
    node.loseEverything();
    await mesh.nodes[0]!.must(['mesh', 'remove', gone]);
    await mesh.join(node);
    assert.notEqual(node.peerId, gone);
    await node.start();
    await drained();
  });

  drawn('leaves every database as its log says', async (context) => {
    context.diagnostic(JSON.stringify({ ...history.tally, slowestDrainMs: mesh.slowestDrainMs }));
    await mesh.end();
  });
});
