import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { cleanEnvironment, MAIN } from '../../support/daemon-process.js';
import { ADMIN, APPROVER, GovernedDaemon, REQUESTER } from '../../support/governed-daemon.js';
import { until } from '../../support/wait.js';

const SCRIPT = '/usr/bin/script';

let node: GovernedDaemon;
before(async () => {
  node = await GovernedDaemon.start();
});
after(() => node.end());

/** The program as a process of its own, and what it prints. */
class Watching {
  out = '';
  err = '';
  code: number | NodeJS.Signals | null | undefined;
  readonly child: ChildProcess;

  constructor(program: string, args: readonly string[]) {
    this.child = spawn(program, args, { env: { ...cleanEnvironment(node.daemon.home), TERM: 'dumb' } });
    this.child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.out += text;
    });
    this.child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.err += text;
    });
    this.child.on('exit', (code, signal) => {
      this.code = signal ?? code;
    });
  }

  lines(): Record<string, unknown>[] {
    return this.out
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  says(what: string, pattern: RegExp): Promise<number> {
    return until(what, () => pattern.test(this.out), { seen: () => this.out + this.err });
  }

  async hears(count: number): Promise<Record<string, unknown>[]> {
    const seen = () => this.out + this.err;
    await until(`${count} lines are printed`, () => this.out.split('\n').length > count, { seen });
    return this.lines();
  }

  async ends(): Promise<number | NodeJS.Signals | null> {
    await until('it ends', () => this.code !== undefined, { seen: () => this.out + this.err });
    return this.code!;
  }
}

const watch = (...flags: string[]) => new Watching(process.execPath, [MAIN, 'pending', 'watch', ...flags]);

describe('pending watch', () => {
  it('prints what waits and each change as JSON lines, and ends with 0 at an interrupt', async () => {
    const first = await node.request('waits already');
    const watching = watch('--json');
    await watching.hears(1);
    const second = await node.request('comes');
    await watching.hears(2);
    await node.decide(first, 'approve');
    await watching.hears(3);
    await node.decide(second, 'reject');
    const lines = await watching.hears(4);
    assert.deepEqual(
      lines.map(({ event, pending_id: id, decision }) => [event, id, decision]),
      [
        ['approval_requested', first, undefined],
        ['approval_requested', second, undefined],
        ['approval_decided', first, 'approve'],
        ['approval_decided', second, 'deny'],
      ],
    );
    watching.child.kill('SIGINT');
    assert.equal(await watching.ends(), 0);
    assert.equal(watching.err, '');
  });

  it('prints sentences without --json, and ends when nobody reads them', async () => {
    const watching = watch();
    const id = await node.request('for people');
    await watching.says('the request is told', new RegExp(`${REQUESTER} requests: store in ask \\(${id}\\)`));
    watching.child.stdout!.destroy();
    await node.decide(id, 'reject');
    assert.equal(await watching.ends(), 0);
  });

  it('follows a node by its address, and misses nothing while the node restarts', async () => {
    const watching = watch('--json', '--url', `http://127.0.0.1:${node.port}`, '--agent-id', ADMIN);
    const before = await node.request('before the restart');
    await watching.hears(1);
    await node.restart('SIGTERM');
    await node.decide(before, 'approve');
    const later = await node.request('after the restart');
    const lines = await watching.hears(3);
    assert.deepEqual(
      lines.map(({ event, pending_id: id }) => [event, id]),
      [
        ['approval_requested', before],
        ['approval_decided', before],
        ['approval_requested', later],
      ],
    );
    await node.decide(later, 'reject');
    watching.child.kill('SIGTERM');
    assert.equal(await watching.ends(), 0);
  });

  it('says what is wrong with an address', async () => {
    for (const [address, pattern] of [
      ['nowhere', /--url must be the address/],
      ['http://127.0.0.1:1', /does not answer/],
    ] as const) {
      const watching = watch('--url', address);
      assert.notEqual(await watching.ends(), 0);
      assert.match(watching.err, pattern);
    }
  });

  it('decides with keys on a terminal', { skip: !existsSync(SCRIPT) }, async () => {
    const [kept, denied, approved] = [
      await node.request('to keep'),
      await node.request('to deny'),
      await node.request('to approve'),
    ];
    const command = `stty cols 100 rows 24; exec ${process.execPath} ${MAIN} pending watch --agent-id ${APPROVER}`;
    const watching = new Watching(SCRIPT, ['-qfec', command, '/dev/null']);
    await watching.says('three wait', /3 actions wait - ai:lead decides/);
    watching.child.stdin!.write('2');
    await watching.says('the second is chosen', new RegExp(`> 2[^>]*${denied}`, 's'));
    watching.child.stdin!.write('d');
    await watching.says('it is denied', new RegExp(`${APPROVER} denies ${denied}`));
    await watching.says('two wait', /2 actions wait/);
    watching.child.stdin!.write('\u001b[B');
    await watching.says('the last is chosen', new RegExp(`> 2[^>]*${approved}`, 's'));
    watching.child.stdin!.write('a');
    await watching.says('it is approved', new RegExp(`${APPROVER} approves ${approved}`));
    await watching.says('one waits', /1 action waits/);
    watching.child.stdin!.write('q');
    assert.equal(await watching.ends(), 0);
    await node.decide(kept, 'reject');
  });
});
