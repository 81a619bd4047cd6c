import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { WINDOW, WINDOW_AGAIN } from '../../support/curator-node.js';
import { startDaemonHere } from '../../support/daemon-here.js';
import { freePort, temporaryFolder } from '../../support/daemon-process.js';
import { ModelServer } from '../../support/model-server.js';
import { run } from './cli-process.js';

type Row = Record<string, unknown>;

describe('mnemesh curator', { timeout: 180_000 }, () => {
  const home = temporaryFolder('curator-cli');
  let model: ModelServer;
  const command = (...args: string[]) => run(home, args, { env: model.environment });
  const json = async (...args: string[]) => {
    const { code, out, err } = await command('curator', ...args, '--json');
    assert.equal(code, 0, err);
    return JSON.parse(out) as Row;
  };
  const store = async (title: string, content: string) => {
    const stored = await command(
      'store',
      '--title',
      title,
      '--content',
      content,
      '--tier',
      'long',
      '--agent-id',
      'ai:ann',
    );
    assert.equal(stored.code, 0, stored.err);
  };
  before(async () => {
    model = await ModelServer.start();
    model.says = ({ system }) =>
      system.startsWith('You tag') ? 'deploy' : system.startsWith('You compare') ? 'no' : WINDOW_AGAIN;
  });
  after(() => model.close());

  it('says what is wrong with its flags', async () => {
    for (const [args, said] of [
      [[], /one of --once, --daemon, --rollback/],
      [['--once', '--daemon'], /one of --once/],
      [['--once', '--max-ops', 'x'], /--max-ops must be a whole number/],
      [['--once', '--max-ops', '0'], /max_ops/],
      [['--once', '--namespace', 'a'], /belong to --reflect/],
      [['--once', '--reflect'], /needs one of --namespace, --all-namespaces/],
      [['--once', '--interval-secs', '60'], /belongs to --daemon/],
      [['--rollback', 'nothing'], /not found/],
    ] as const) {
      const { code, err } = await command('curator', ...args);
      assert.notEqual(code, 0, args.join(' '));
      assert.match(err, said);
    }
  });

  it('curates once without a daemon, and undoes it', async () => {
    await store('one', WINDOW);
    await store('two', WINDOW_AGAIN);
    const would = await json('--once', '--dry-run');
    assert.deepEqual([would['dry_run'], would['auto_tagged'], model.asked.length], [true, 2, 0]);
    const did = await json('--once');
    assert.deepEqual([did['dry_run'], did['auto_tagged'], did['errors']], [false, 2, []]);
    assert.equal((did['autonomy'] as Row)['memories_consolidated'], 2);
    const undone = await json('--rollback-last', '1');
    assert.equal((undone['rolled_back'] as Row[]).length, 1);
    const listed = await command('list', '--json');
    assert.equal(
      (JSON.parse(listed.out) as { memories: Row[] }).memories.filter(({ tier }) => tier === 'long').length >=
        2,
      true,
    );
  });

  it('has the daemon do the cycle while one serves the database', async () => {
    await store('three', 'The accountants of Bern keep all invoices of the company for at least ten years.');
    const daemon = await startDaemonHere(home, await freePort(), model.environment);
    try {
      const did = await json('--once');
      assert.deepEqual([did['auto_tagged'], did['errors']], [1, []], JSON.stringify(did));
    } finally {
      await daemon.end('SIGTERM');
    }
  });

  it('is not for a process that is bound to an agent', async () => {
    const { code, err } = await run(home, ['curator', '--once', '--dry-run'], {
      env: { ...model.environment, SVC_AGENT_ID: 'ai:ann' },
    });
    assert.notEqual(code, 0);
    assert.match(err, /only the operator/);
  });
});
