import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { ChildSlots } from '../../../actors/hooks/child-slots.js';
import type { HookOutput } from '../../../actors/hooks/hook-chain.js';
import type { Executor } from '../../../actors/hooks/registered-hook.js';
import { DaemonHook } from '../../../node/hooks/daemon-hook.js';
import { ExecHook } from '../../../node/hooks/exec-hook.js';
import { redacted } from '../../../node/hooks/stderr-tail.js';
import { systemClock, systemScheduler } from '../../../node/seams.js';
import { HookHome } from '../../support/hooks.js';
import { until } from '../../support/wait.js';

const SEAMS = { clock: systemClock, scheduler: systemScheduler };
const open: Executor[] = [];
after(() => Promise.all(open.map((each) => each.close())));

const partsOf = (home: HookHome, environment: Record<string, string> = {}) => ({
  ...SEAMS,
  place: { folder: home.home, environment },
  refusal: () => Promise.resolve(null),
});

function daemon(home: HookHome, ...lines: readonly string[]): DaemonHook {
  const hook = new DaemonHook(home.node(...lines), partsOf(home), true);
  open.push(hook);
  return hook;
}

function exec(command: string, home: HookHome, places = 8, waiting = 512): ExecHook {
  const hook = new ExecHook(command, new ChildSlots(places, waiting, SEAMS), partsOf(home, { LANG: 'C' }));
  open.push(hook);
  return hook;
}

/** The time of a run that has a place at once. */
const within = (ms: number) => ({ leftMs: ms, ownMs: ms });

const textOf = (output: HookOutput): string => {
  assert.equal(output.kind, 'said', JSON.stringify(output));
  return output.kind === 'said' ? output.text : '';
};

const problemOf = (output: HookOutput): string => {
  assert.equal(output.kind, 'failed', JSON.stringify(output));
  return output.kind === 'failed' ? output.problem : '';
};

describe('a hook that is started for each event', { timeout: 60_000 }, () => {
  it('gets the line, and nothing of the environment but what it is given', async () => {
    const home = new HookHome();
    const hook = exec(
      home.node(`process.stdout.write(JSON.stringify(process.env)); process.stdin.resume()`),
      home,
    );
    assert.deepEqual(JSON.parse(textOf(await hook.run('{}', within(5000)))), { LANG: 'C' });
  });

  it('may answer without reading', async () => {
    const home = new HookHome();
    const hook = exec(home.sh('exec 0<&-; echo {}'), home);
    assert.equal(textOf(await hook.run('x'.repeat(4 * 1024 * 1024), within(5000))).trim(), '{}');
  });

  it('runs at most so many at a time, and too many that wait are refused', async () => {
    const home = new HookHome();
    const log = join(home.home, 'log');
    writeFileSync(log, '');
    const hook = exec(home.sh(`echo + >> '${log}'; sleep 0.2; echo - >> '${log}'`), home, 2, 4);
    const outputs = await Promise.all(Array.from({ length: 8 }, () => hook.run('{}', within(10_000))));
    assert.deepEqual(
      outputs.map(({ kind }) => kind),
      ['said', 'said', 'said', 'said', 'said', 'said', 'busy', 'busy'],
    );
    let running = 0;
    let most = 0;
    for (const mark of readFileSync(log, 'utf8').trim().split('\n')) {
      running += mark === '+' ? 1 : -1;
      most = Math.max(most, running);
    }
    assert.equal(most, 2);
  });

  it('that waits too long for its place is no fault of its own, and the wait takes nothing of its time', async () => {
    const home = new HookHome();
    const hook = exec(home.sh('sleep 1'), home, 1);
    const first = hook.run('{}', within(5000));
    assert.equal((await hook.run('{}', { leftMs: 200, ownMs: 200 })).kind, 'busy');
    const short = hook.run('{}', { leftMs: 1500, ownMs: 1200 });
    const own = hook.run('{}', { leftMs: 8000, ownMs: 200 });
    assert.equal((await first).kind, 'said');
    assert.equal((await short).kind, 'busy', 'the wait left it less than its time');
    assert.equal((await own).kind, 'timeout', 'its own time was too short');
    const staying = daemon(home, `process.stdin.on('data', () => setTimeout(() => console.log('{}'), 600))`);
    const [answered, waited] = await Promise.all([
      staying.run('{}', within(5000)),
      staying.run('{}', { leftMs: 300, ownMs: 300 }),
    ]);
    assert.deepEqual([answered.kind, waited.kind], ['said', 'busy']);
  });

  it('tells the end of its standard error, without secrets', async () => {
    const home = new HookHome();
    const script = home.sh(
      'head -c 9000 /dev/zero | tr "\\0" "." >&2; echo " api_key=hunter2 broken" >&2; exit 7',
    );
    const problem = problemOf(await exec(script, home).run('{}', within(5000)));
    assert.match(problem, /^it ended with code 7: \.+ api_key=\[redacted\] broken$/);
    assert.ok(problem.length < 4300);
    assert.equal(redacted('sent Qm9vayBvZiBzZWNyZXRzIDEyMzQ1 away'), 'sent [redacted] away');
  });

  it('hides a secret after a scheme, in quotes, and after a name that only contains the word', () => {
    const secret = 'open sesame';
    const texts: readonly (readonly [string, string])[] = [
      ['Authorization: Bearer sk-sesame\nfailed', 'Authorization: [redacted]\nfailed'],
      ['authorization=Digest username="sesame", response="sesame"', 'authorization=[redacted]'],
      ['{"Authorization":"Basic sesame","code":7}', '{"Authorization":[redacted],"code":7}'],
      ['with authorization sesame failed', 'with authorization [redacted] failed'],
      ['sent Bearer sesame to it', 'sent Bearer [redacted] to it'],
      ['AWS_SECRET_ACCESS_KEY=sesame broken', 'AWS_SECRET_ACCESS_KEY=[redacted] broken'],
      ['secretAccessKey: sesame', 'secretAccessKey: [redacted]'],
      [`password="${secret}" failed`, 'password=[redacted] failed'],
      [`password = '${secret}' failed`, 'password = [redacted] failed'],
      [`{"api_key": "open \\"sesame\\"", "code": 7}`, '{"api_key": [redacted], "code": 7}'],
      [`"{\\"token\\":\\"${secret}\\",\\"code\\":7}"`, '"{\\"token\\":[redacted],\\"code\\":7}"'],
      [`token "${secret}`, 'token [redacted]'],
      ['the tokenizer failed at line 3', 'the tokenizer failed at line 3'],
    ];
    for (const [text, shown] of texts) assert.equal(redacted(text), shown);
  });
});

const ECHO = [
  `require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {`,
  `  const { wait = 0, ...said } = JSON.parse(line);`,
  `  setTimeout(() => console.log(JSON.stringify({ ...said, pid: process.pid })), wait);`,
  `});`,
];

describe('a hook whose child stays', { timeout: 60_000 }, () => {
  const said = async (hook: DaemonHook, line: object, budgetMs = 5000) =>
    JSON.parse(textOf(await hook.run(JSON.stringify(line), within(budgetMs)))) as { n: number; pid: number };

  it('answers event by event, with the same child', async () => {
    const hook = daemon(new HookHome(), ...ECHO);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => said(hook, { n, wait: n === 0 ? 100 : 0 })),
    );
    assert.deepEqual(
      answers.map(({ n }) => n),
      Array.from({ length: 50 }, (_, n) => n),
    );
    assert.equal(new Set(answers.map(({ pid }) => pid)).size, 1);
  });

  it('that answers late loses that event, and keeps its child', async () => {
    const hook = daemon(new HookHome(), ...ECHO);
    const { pid } = await said(hook, { n: 1 });
    assert.equal((await hook.run('{"n":2,"wait":300}', within(50))).kind, 'timeout');
    assert.deepEqual(await said(hook, { n: 3 }), { n: 3, pid });
  });

  it('that does not answer at all is started again', async () => {
    const hook = daemon(new HookHome(), ...ECHO);
    const { pid } = await said(hook, { n: 1 });
    assert.equal((await hook.run('{"n":2,"wait":60000}', within(50))).kind, 'timeout');
    const again = await said(hook, { n: 3 });
    assert.equal(again.n, 3);
    assert.notEqual(again.pid, pid);
  });

  it('that crashes is started again, later each time, and rests after five failures', async () => {
    const home = new HookHome();
    const log = join(home.home, 'starts');
    writeFileSync(log, '');
    const hook = daemon(
      home,
      `require('node:fs').appendFileSync('${log}', Date.now() + '\\n'); process.exit(1)`,
    );
    const problems: string[] = [];
    await until('it rests', async () => {
      const output = await hook.run('{}', within(5000));
      problems.push(problemOf(output));
      return /rests/.test(problems.at(-1)!);
    });
    const starts = readFileSync(log, 'utf8').trim().split('\n').map(Number);
    assert.equal(starts.length, 5);
    const gaps = starts.slice(1).map((at, index) => at - starts[index]!);
    for (const [index, least] of [100, 200, 400, 800].entries())
      assert.ok(gaps[index]! >= least - 20, String(gaps));
    assert.match(problems.at(-1)!, /it failed 5 times in a row and rests: it ended with code 1/);
    hook.revive(false);
    assert.doesNotMatch(problemOf(await hook.run('{}', within(5000))), /rests/);
  });

  it('is another one after a restart, which waits for the event under way', async () => {
    const hook = daemon(new HookHome(), ...ECHO);
    const { pid } = await said(hook, { n: 1 });
    const underWay = said(hook, { n: 2, wait: 100 });
    hook.revive(true);
    const [second, third] = [await underWay, await said(hook, { n: 3 })];
    assert.deepEqual(second, { n: 2, pid });
    assert.notEqual(third.pid, pid);
  });

  it('that floods, or writes what no event asked for, is ended', async () => {
    const home = new HookHome();
    const flood = daemon(
      home,
      `const piece = 'x'.repeat(65536); for (;;) require('node:fs').writeSync(1, piece);`,
    );
    assert.match(
      problemOf(await flood.run('{}', within(5000))),
      /wrote a line of more than 262144 bytes|ended/,
    );
    const chatty = daemon(
      home,
      `process.stdin.once('data', () => process.stdout.write('{}\\n{}\\n')); setInterval(() => {}, 1000);`,
    );
    assert.equal(textOf(await chatty.run('{}', within(5000))), '{}');
    await until('it is ended', async () => {
      const output = await chatty.run('{}', within(1000));
      return output.kind === 'said';
    });
  });
});

/** Ways in which a start fails at once, with what makes it succeed. */
const REFUSED_STARTS: readonly (readonly [
  string,
  (home: HookHome) => { command: string; mend: () => void },
])[] = [
  [
    'ENOTDIR',
    (home) => {
      const script = home.sh('while read line; do echo {}; done');
      const mend = () => {
        renameSync(script, `${script}.sh`);
        mkdirSync(script);
        renameSync(`${script}.sh`, join(script, 'hook'));
      };
      return { command: join(script, 'hook'), mend };
    },
  ],
  [
    'ETXTBSY',
    (home) => {
      const command = home.sh('while read line; do echo {}; done');
      const writer = openSync(command, 'r+');
      return { command, mend: () => closeSync(writer) };
    },
  ],
];

/** Runs the hooks when no file can be opened any more, and again when one can. */
const WITHOUT_FILES = `
import { closeSync, openSync } from 'node:fs';
const [at, folder, command] = process.argv.slice(-3);
const load = (path) => import(new URL(path, at));
const { ExecHook } = await load('node/hooks/exec-hook.js');
const { DaemonHook } = await load('node/hooks/daemon-hook.js');
const { ChildSlots } = await load('actors/hooks/child-slots.js');
const { systemClock: clock, systemScheduler: scheduler } = await load('node/seams.js');
const parts = { clock, scheduler, place: { folder, environment: {} }, refusal: async () => null };
const exec = new ExecHook(command, new ChildSlots(1, 8, parts), parts);
const files = [];
try {
  for (;;) files.push(openSync('/dev/null'));
} catch {}
const daemon = new DaemonHook(command, parts, true);
const without = [await exec.run('{}\\n', { leftMs: 200, ownMs: 200 }), await daemon.run('{}', { leftMs: 3000, ownMs: 3000 })];
for (const file of files) closeSync(file);
const again = [await exec.run('{}\\n', { leftMs: 5000, ownMs: 5000 }), await daemon.run('{}', { leftMs: 5000, ownMs: 5000 })];
console.log(JSON.stringify([without, again].map((runs) => runs.map(({ kind }) => kind))));
process.exit(0);
`;

describe('a program that cannot be started', { timeout: 60_000, skip: process.platform !== 'linux' }, () => {
  for (const [code, broken] of REFUSED_STARTS) {
    it(`for ${code} keeps no place, and no turn`, async () => {
      const home = new HookHome();
      const { command, mend } = broken(home);
      const slots = new ChildSlots(8, 512, SEAMS);
      const failing = new ExecHook(command, slots, partsOf(home));
      const staying = new DaemonHook(command, partsOf(home), true);
      const good = new ExecHook(home.sh('echo {}'), slots, partsOf(home));
      open.push(failing, staying, good);
      const runs = (hook: Executor) =>
        Promise.all(Array.from({ length: 8 }, () => hook.run('{}\n', within(5000))));
      for (const output of [...(await runs(failing)), ...(await runs(staying))])
        assert.match(problemOf(output), new RegExp(`it cannot be started: ${code}$`));
      assert.equal(textOf(await good.run('{}', within(5000))).trim(), '{}');
      mend();
      staying.revive(false);
      assert.equal(textOf(await failing.run('{}\n', within(5000))).trim(), '{}');
      assert.equal(textOf(await staying.run('{}', within(5000))), '{}');
      staying.revive(true);
      assert.equal(textOf(await staying.run('{}', within(5000))), '{}');
    });
  }

  it('because its command has a NUL byte fails', async () => {
    const home = new HookHome();
    for (const hook of [exec('a\0b', home), new DaemonHook('a\0b', partsOf(home), true)])
      assert.match(
        problemOf(await hook.run('{}', within(5000))),
        /it cannot be started: ERR_INVALID_ARG_VALUE/,
      );
  });

  it('for want of open files does not end the node', async () => {
    const home = new HookHome();
    const script = join(home.home, 'without-files.mjs');
    writeFileSync(script, WITHOUT_FILES);
    const command = home.sh('while read line; do echo {}; done');
    const own = ['-c', 'ulimit -n 128; exec "$@"', 'sh', process.execPath, script];
    const at = new URL('../../../', import.meta.url).href;
    const { stdout } = await promisify(execFile)('sh', [...own, at, home.home, command]);
    assert.deepEqual(JSON.parse(stdout), [
      ['timeout', 'failed'],
      ['said', 'said'],
    ]);
  });

  it('is not asked about an event when its rules fail', async () => {
    const home = new HookHome();
    let isBroken = true;
    const refusal = () => (isBroken ? Promise.reject(new Error('no rules')) : Promise.resolve(null));
    const parts = { ...partsOf(home), refusal };
    const hook = new DaemonHook(home.sh('while read line; do echo {}; done'), parts, true);
    open.push(hook);
    await assert.rejects(hook.run('{}', within(5000)), /no rules/);
    isBroken = false;
    assert.equal(textOf(await hook.run('{}', within(5000))), '{}');
  });
});

describe('places for children', () => {
  it('are given in the order of arrival, and given back once', async () => {
    const slots = new ChildSlots(1, 2, SEAMS);
    const first = await slots.take(Number.POSITIVE_INFINITY);
    assert.equal(typeof first, 'function');
    const order: number[] = [];
    const wait = async (n: number) => {
      const release = await slots.take(systemClock.monotonicMs() + 5000);
      order.push(n);
      (release as () => void)();
    };
    const waiting = [wait(1), wait(2)];
    assert.equal(await slots.take(systemClock.monotonicMs() + 5000), 'busy');
    (first as () => void)();
    (first as () => void)();
    await Promise.all(waiting);
    assert.deepEqual(order, [1, 2]);
  });
});
