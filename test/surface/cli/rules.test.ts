import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startDaemonHere } from '../../support/daemon-here.js';
import { freePort, type RunningDaemon, temporaryFolder } from '../../support/daemon-process.js';
import { commandsIn, run } from './cli-process.js';

type Json = Record<string, unknown>;

const PUSH = ['--kind', 'bash', '--matcher', '{"command_substring":"push --force"}'];

/** The answer of a command in JSON; the code of its failure where it fails. */
async function told(home: string, args: readonly string[], env: Record<string, string> = {}): Promise<Json> {
  const { code, out, err } = await run(home, [...args, '--json'], { env });
  // A check that refuses has an answer, and an exit code of its own.
  const isAnswer = code === 0 || code === 4;
  const body = JSON.parse(isAnswer ? out : err) as Json;
  return isAnswer ? body : { failed: body['code'], error: body['error'] };
}

describe('rules on the command line', () => {
  const home = temporaryFolder('cli-rules');
  let daemon: RunningDaemon;
  before(async () => {
    daemon = await startDaemonHere(home, await freePort());
  });
  after(() => daemon.end('SIGTERM'));

  const post = async (path: string, body: Json) => {
    const headers = { 'content-type': 'application/json', 'x-agent-id': 'ai:alice' };
    const answer = await fetch(`${daemon.base}${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    return (await answer.json()) as Json;
  };
  const check = async () =>
    (await post('/memory_check_agent_action', { kind: 'bash', command: 'git push --force' }))['decision'];
  const active = async () =>
    ((await (await fetch(`${daemon.base}/capabilities`)).json()) as Json)['active_rule_count'];

  it('are in force at a running node at once, and gone at once', async () => {
    assert.deepEqual([await check(), await active()], [{ decision: 'allow' }, 0]);
    const added = await told(home, ['rules', 'add', '--id', 'push', ...PUSH, '--reason', 'ask first']);
    assert.deepEqual([added['id'], added['enabled'], added['attest_level']], ['push', true, 'unsigned']);
    const refused = { decision: 'refuse', rule_id: 'push', reason: 'ask first' };
    assert.deepEqual([await check(), await active()], [refused, 1]);
    const list = await post('/memory_rule_list', { enabled_only: true });
    assert.equal(list['count'], 1);
    assert.deepEqual(Object.keys((list['rules'] as Json[])[0]!), [
      ...['id', 'kind', 'matcher', 'severity', 'reason', 'namespace', 'created_by', 'created_at', 'enabled'],
      ...['signature_b64', 'attest_level', 'in_force'],
    ]);
    const flags = ['governance', 'check-action', '--kind', 'bash', '--command', 'git push --force x'];
    assert.deepEqual((await told(home, flags))['decision'], refused);
    const payload = ['rules', 'check', '--kind', 'bash', '--payload', '{"command":"git push --force"}'];
    assert.deepEqual((await told(home, payload))['decision'], refused);

    assert.equal((await told(home, ['rules', 'disable', 'push']))['enabled'], false);
    assert.deepEqual([await check(), await active()], [{ decision: 'allow' }, 0]);
    await told(home, ['rules', 'enable', 'push']);
    assert.deepEqual(await check(), refused);
    assert.deepEqual(await told(home, ['rules', 'remove', 'push']), { removed: true, id: 'push' });
    assert.deepEqual(await check(), { decision: 'allow' });
  });

  it('say what is wrong with a rule, and with who changes it', async () => {
    const add = (...more: string[]) => told(home, ['rules', 'add', '--id', 'x', ...more]);
    assert.equal((await add('--kind', 'bash', '--matcher', '{"x":1}'))['failed'], 'VALIDATION_FAILED');
    assert.equal((await add('--kind', 'bash', '--matcher', '7'))['failed'], 'VALIDATION_FAILED');
    assert.equal((await add('--kind', 'dance', '--matcher', '{}'))['failed'], 'VALIDATION_FAILED');
    assert.equal((await told(home, ['rules', 'enable', 'x']))['failed'], 'NOT_FOUND');
    const bound = { SVC_AGENT_ID: 'ai:alice' };
    const denied = await told(home, ['rules', 'add', '--id', 'x', ...PUSH], bound);
    assert.equal(denied['failed'], 'ADMIN_REQUIRED');
    const admin = { ...bound, SVC_ADMIN_AGENT_IDS: 'ai:alice' };
    assert.equal((await told(home, ['rules', 'add', '--id', 'x', ...PUSH], admin))['created_by'], 'ai:alice');
    await told(home, ['rules', 'remove', 'x']);
  });

  it('come disabled as defaults, and stay as they are', async () => {
    const all = ['R001', 'R002', 'R003', 'R004'];
    assert.deepEqual(await told(home, ['governance', 'install-defaults']), { installed: all, kept: [] });
    assert.equal(await active(), 0);
    await told(home, ['rules', 'enable', 'R001']);
    assert.deepEqual(await told(home, ['governance', 'install-defaults', '--yes']), {
      ...{ installed: [], kept: all },
    });
    assert.equal(await active(), 1);
    const said = await post('/memory_check_agent_action', { kind: 'filesystem_write', path: '/tmp/x' });
    assert.equal((said['decision'] as Json)['rule_id'], 'R001');
  });

  it('ask the disk', async () => {
    for (const [id, least, decision] of [
      ['low', 1e12, 'refuse'],
      ['high', 1e-9, 'allow'],
    ] as const) {
      const matcher = JSON.stringify({ binary: id, disk_free_min_gib: least });
      await told(home, ['rules', 'add', '--id', id, '--kind', 'process_spawn', '--matcher', matcher]);
      const said = await post('/memory_check_agent_action', { kind: 'process_spawn', binary: id });
      assert.equal((said['decision'] as Json)['decision'], decision);
    }
  });
});

describe('rules under an operator key', () => {
  const home = temporaryFolder('cli-rules-signed');
  const mnemesh = commandsIn(home);
  const config = join(home, 'config.toml');

  it('need a key where the configuration asks for one', async () => {
    writeFileSync(config, '[governance]\nrequire_operator_pubkey = true\n', { mode: 0o600 });
    const { code, err } = await mnemesh('serve', '--port', '0');
    assert.equal(code, 78);
    assert.match(err, /there is no operator key: make one with "mnemesh rules keygen"/);
    assert.equal((await mnemesh('rules', 'list')).code, 0, 'other commands run');
  });

  it('count with its signature, change with it, and doctor names those without', async () => {
    await told(home, ['governance', 'install-defaults']);
    await told(home, ['rules', 'enable', 'R001']);
    const made = await told(home, ['rules', 'keygen']);
    const path = String(made['path']);
    assert.deepEqual([statSync(path).mode & 0o777, readFileSync(path).length], [0o400, 32]);
    assert.equal((await told(home, ['rules', 'keygen']))['failed'], 'CONFLICT');
    writeFileSync(config, `[governance]\noperator_pubkey = "${made['public_key']}"\n`, { mode: 0o600 });

    const list = async () => {
      const { rules } = (await told(home, ['rules', 'list'])) as { rules: Json[] };
      return rules.filter((rule) => rule['in_force'] === true).map((rule) => rule['id']);
    };
    assert.deepEqual(await list(), []);
    const doctor = JSON.parse((await mnemesh('doctor', '--json')).out) as {
      sections: { name: string; findings: { code: string; message: string }[] }[];
    };
    const [finding] = doctor.sections.find(({ name }) => name === 'Governance')!.findings;
    assert.equal(finding?.code, 'RULES_UNSIGNED');
    assert.match(finding.message, /R001$/);

    assert.equal((await told(home, ['rules', 'enable', 'R002']))['failed'], 'FORBIDDEN');
    assert.deepEqual(await told(home, ['rules', 'sign-seed']), { signed: ['R001', 'R002', 'R003', 'R004'] });
    assert.deepEqual(await list(), ['R001']);
    const enabled = await told(home, ['rules', 'enable', 'R002', '--sign']);
    assert.equal(enabled['attest_level'], 'operator_signed');
    assert.deepEqual(await list(), ['R001', 'R002']);
    assert.equal((await told(home, ['rules', 'disable', 'R001']))['failed'], 'FORBIDDEN');
    assert.equal((await told(home, ['rules', 'remove', 'R001']))['failed'], 'FORBIDDEN');
    assert.equal((await told(home, ['rules', 'remove', 'R001', '--sign']))['removed'], true);
    assert.equal((await told(home, ['rules', 'disable', 'R002', '--sign']))['enabled'], false);
    assert.deepEqual(await list(), []);
    const other = await told(home, ['rules', 'keygen', '--out', join(home, 'other', 'operator.key')]);
    const wrong = await told(home, ['rules', 'enable', 'R003', '--sign', '--key', String(other['path'])]);
    assert.equal(wrong['failed'], 'CONFLICT');
  });

  it('refuse a key under which anyone can sign', async () => {
    const weak = Buffer.alloc(32);
    weak[0] = 1;
    const { code, err } = await run(home, ['rules', 'list'], {
      env: { SVC_OPERATOR_PUBKEY: weak.toString('base64') },
    });
    assert.equal(code, 78);
    assert.match(err, /the operator key cannot be used/);
  });
});

describe('governance migrate-to-permissions', () => {
  it('prints what permission rules can say, and the rest as comments', async () => {
    const home = temporaryFolder('cli-permissions');
    const mnemesh = commandsIn(home);
    assert.equal(
      (await mnemesh('governance', 'migrate-to-permissions')).out,
      '# no namespace has a policy\n',
    );
    const set = (namespace: string, governance: Json) =>
      mnemesh(
        'namespace',
        'set-standard',
        '--namespace',
        namespace,
        '--governance',
        JSON.stringify(governance),
      );
    await set('team', { write: 'approve', delete: 'owner' });
    await set('open', { write: 'any', inherit: false });
    const { out } = await mnemesh('governance', 'migrate-to-permissions');
    const block = (pattern: string, decision: string, reason: string) =>
      `[[permissions.rules]]\nnamespace_pattern = "${pattern}"\nop = "memory_store"\ndecision = "${decision}"\nreason = "policy of ${reason}"\n`;
    assert.equal(
      out,
      [
        block('open', 'allow', 'open: write = any'),
        block('team', 'ask', 'team: write = approve'),
        block('team/**', 'ask', 'team: write = approve'),
        '# has no permission rule, stays a policy: policy of team: delete = owner\n',
      ].join('\n'),
    );
    const { rules, left } = (await told(home, ['governance', 'migrate-to-permissions'])) as {
      rules: Json[];
      left: string[];
    };
    assert.deepEqual([rules.length, left], [3, ['policy of team: delete = owner']]);
  });

  it('writes a file that the node starts with, adds to one only what it lacks, and nothing with --dry-run', async () => {
    const home = temporaryFolder('cli-permissions-out');
    const mnemesh = commandsIn(home);
    const policy = '{"write":"approve"}';
    await mnemesh('namespace', 'set-standard', '--namespace', 'team', '--governance', policy);
    const file = join(home, 'config.toml');
    const migrate = (...flags: string[]) => mnemesh('governance', 'migrate-to-permissions', ...flags);
    const plain = (await migrate()).out;
    const dry = await migrate('--dry-run', '--config-out', file);
    assert.deepEqual([dry.code, dry.out, existsSync(file)], [0, plain, false]);
    const made = await migrate('--config-out', file);
    assert.equal(made.code, 0, made.err);
    assert.deepEqual([readFileSync(file, 'utf8'), statSync(file).mode & 0o777], [plain, 0o600]);
    assert.equal((await mnemesh('config', 'show')).code, 0);
    const other = await migrate('--config-out', file, '--json');
    assert.deepEqual([other.code, JSON.parse(other.err).code], [1, 'CONFLICT']);

    await mnemesh('namespace', 'set-standard', '--namespace', 'open', '--governance', policy);
    const added = await migrate('--config-in', file, '--config-out', file, '--json');
    const { rules, backup } = JSON.parse(added.out) as { rules: Json[]; backup: string };
    assert.deepEqual(
      rules.map(({ namespace_pattern }) => namespace_pattern),
      ['open', 'open/**'],
    );
    assert.equal(readFileSync(backup, 'utf8'), plain);
    const text = readFileSync(file, 'utf8');
    assert.equal(text.split('[[permissions.rules]]').length, 5);
    const again = await migrate('--config-in', file, '--dry-run', '--json');
    assert.deepEqual((JSON.parse(again.out) as { rules: Json[] }).rules, []);
    assert.equal((await migrate('--config-in', file, '--config-out', file)).code, 0);
    assert.equal(readFileSync(file, 'utf8'), text);
  });

  it('leaves a file alone that is no TOML, or has its rules in another form', async () => {
    const home = temporaryFolder('cli-permissions-odd');
    const mnemesh = commandsIn(home);
    const policy = '{"write":"approve"}';
    await mnemesh('namespace', 'set-standard', '--namespace', 'team', '--governance', policy);
    for (const text of ['permissions = ', 'permissions = { mode = "off" }\n']) {
      const file = join(home, 'odd.toml');
      writeFileSync(file, text);
      const words = ['governance', 'migrate-to-permissions', '--config-in', file, '--config-out', file];
      const { code, err } = await mnemesh(...words, '--json');
      assert.deepEqual([code, JSON.parse(err).code], [78, 'CONFIG_INVALID']);
      assert.equal(readFileSync(file, 'utf8'), text);
    }
  });
});
