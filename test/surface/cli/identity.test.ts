import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { temporaryFolder } from '../../support/daemon-process.js';
import { mixedPoint, openKey, smallOrderPoint } from '../../support/ed25519-cases.js';
import { agentKey } from '../../support/signing.js';
import { commandsIn, run } from './cli-process.js';

const json = (text: string) => {
  assert.match(text, /^\{.*\}\n$/, 'one JSON document and nothing else');
  return JSON.parse(text);
};
const AGENT = 'ai:writer';

describe('identity', () => {
  const home = temporaryFolder('cli-identity');
  const mnemesh = commandsIn(home);
  const keys = join(home, 'keys');

  it('generate makes the pair once, and again only with --force', async () => {
    const made = json((await mnemesh('identity', 'generate', '--agent-id', AGENT, '--json')).out);
    assert.deepEqual(Object.keys(made), [
      'generated',
      'agent_id',
      'public_key',
      'fingerprint',
      'has_private',
      'path',
    ]);
    assert.equal(statSync(join(keys, `${AGENT}.priv`)).mode & 0o777, 0o600);
    const again = await mnemesh('identity', 'generate', '--agent-id', AGENT, '--json');
    assert.deepEqual([again.code, again.out, json(again.err).code], [1, '', 'CONFLICT']);
    const forced = json(
      (await mnemesh('identity', 'generate', '--agent-id', AGENT, '--json', '--force')).out,
    );
    assert.notEqual(forced.public_key, made.public_key);
    assert.match(forced.archived, /ai:writer\.pub\.\d{10}$/);
    assert.equal(readFileSync(forced.archived).toString('base64url'), made.public_key);
  });

  it('export-pub prints the key in every format', async () => {
    const raw = readFileSync(join(keys, `${AGENT}.pub`));
    const exported = async (...args: string[]) =>
      (await mnemesh('identity', 'export-pub', '--agent-id', AGENT, ...args)).out;
    assert.equal(await exported(), `${raw.toString('base64url')}\n`);
    assert.equal((await exported()).length, 44);
    assert.equal(await exported('--format', 'base64'), `${raw.toString('base64')}\n`);
    assert.equal(await exported('--format', 'hex'), `${raw.toString('hex')}\n`);
    assert.deepEqual(json(await exported('--json')), {
      agent_id: AGENT,
      public_key: raw.toString('base64url'),
      format: 'base64url',
    });
  });

  it('a key travels: raw from one home, imported in another', async () => {
    const elsewhere = temporaryFolder('cli-identity-peer');
    const text = (await mnemesh('identity', 'export-pub', '--agent-id', AGENT)).out;
    const { code } = await run(elsewhere, ['identity', 'import', '--agent-id', AGENT, '--pub', '-'], {
      stdin: text,
    });
    assert.equal(code, 0);
    const there = readFileSync(join(elsewhere, 'keys', `${AGENT}.pub`));
    assert.deepEqual(there, readFileSync(join(keys, `${AGENT}.pub`)));
    const seed = readFileSync(join(keys, `${AGENT}.priv`));
    const imported = await run(
      elsewhere,
      ['identity', 'import', '--agent-id', AGENT, '--priv', '-', '--json'],
      {
        stdin: seed,
      },
    );
    assert.equal(json(imported.out).has_private, true);
    assert.deepEqual(readFileSync(join(elsewhere, 'keys', `${AGENT}.priv`)), seed);
  });

  it('list shows agents and peers, and never private material', async () => {
    await mnemesh('identity', 'generate', '--agent-id', 'team/loose');
    chmodSync(join(keys, 'team/loose.priv'), 0o644);
    const listed = await mnemesh('identity', 'list');
    assert.match(listed.out, /^AGENT +FINGERPRINT +PRIVATE +MODES\nai:writer +[0-9a-f]{16} +yes +ok\n/);
    assert.match(listed.out, /team\/loose +- +yes +unsafe\n {2}.*chmod 600/);
    const answer = json((await mnemesh('identity', 'list', '--json')).out);
    assert.deepEqual([answer.count, answer.key_dir], [2, keys]);
    const secrets = [`${AGENT}.priv`, 'team/loose.priv'].map((name) => readFileSync(join(keys, name)));
    for (const seed of secrets) {
      for (const form of ['hex', 'base64', 'base64url', 'latin1'] as const) {
        assert.ok(
          !JSON.stringify(answer).includes(seed.toString(form)) && !listed.out.includes(seed.toString(form)),
        );
      }
    }
  });

  it('takes --key-dir, before SVC_KEY_DIR', async () => {
    const [flag, variable] = [join(home, 'by-flag'), join(home, 'by-variable')];
    const env = { SVC_KEY_DIR: variable };
    await run(home, ['identity', 'generate', '--agent-id', 'x', '--key-dir', flag], { env });
    await run(home, ['identity', 'generate', '--agent-id', 'y'], { env });
    assert.ok(existsSync(join(flag, 'x.priv')) && existsSync(join(variable, 'y.priv')));
  });
});

describe('what the identity commands refuse', () => {
  const home = temporaryFolder('cli-identity-refusals');
  const file = (name: string, content: Uint8Array | string) => {
    writeFileSync(join(home, name), content);
    return join(home, name);
  };
  const good = agentKey(AGENT).signer.publicKey;
  const mixed = mixedPoint(openKey(agentKey(AGENT).seed).scalar, 1);
  const bring = (kind: '--pub' | '--priv', path: string, id = AGENT) => [
    'import',
    '--agent-id',
    id,
    kind,
    path,
  ];
  mkdirSync(join(home, 'folder'));

  const cases: readonly (readonly [args: string[], code: number, err: RegExp])[] = [
    [[], 2, /identity needs one of: generate, import, list, export-pub/],
    [['generate'], 2, /missing required argument: --agent-id/],
    [['generate', '--agent-id', 'daemon'], 2, /reserved/],
    [['generate', '--agent-id', 'Daemon'], 2, /machine's own key/],
    [['generate', '--agent-id', '../up'], 2, /".."/],
    [['generate', '--agent-id', 'a//b'], 2, /cannot have key files/],
    [['import', '--agent-id', AGENT], 2, /either --pub or --priv/],
    [['import', '--agent-id', AGENT, '--pub', 'a', '--priv', 'b'], 2, /either --pub or --priv/],
    [bring('--pub', join(home, 'missing')), 2, /cannot read .*missing: ENOENT/],
    [bring('--pub', join(home, 'folder')), 2, /cannot read .*folder: EISDIR/],
    [bring('--pub', '/dev/zero'), 2, /does not hold a key/],
    [bring('--pub', file('short', good.slice(1))), 2, /does not hold a key: give 32 raw bytes/],
    [bring('--pub', file('spaced', ` ${Buffer.from(good).toString('base64')}`)), 2, /does not hold a key/],
    [bring('--pub', file('small', smallOrderPoint(3))), 2, /small order/],
    [bring('--pub', file('mixed', mixed)), 2, /mixed order/],
    [bring('--pub', file('no-point', Buffer.alloc(32, 2))), 2, /not a point of the curve/],
    [bring('--priv', file('zeros', Buffer.alloc(32))), 2, /only zeros/],
    [bring('--priv', file('sixty-four', Buffer.alloc(64, 1))), 2, /does not hold a key/],
    [['export-pub', '--agent-id', 'nobody'], 1, /no key for nobody/],
    [['export-pub', '--agent-id', 'daemon'], 1, /no key for daemon/],
    [['export-pub', '--agent-id', AGENT, '--format', 'pem'], 2, /--format: "pem" is not one of/],
    [['export-pub', '--agent-id', AGENT, '--format', 'raw', '--json'], 2, /cannot be combined/],
    [['list', 'surplus'], 2, /unexpected argument/],
  ];
  for (const [args, code, pattern] of cases) {
    it(`identity ${args.join(' ').replaceAll(home, '')} ends with ${code}`, async () => {
      const finished = await run(home, ['identity', ...args]);
      assert.equal(finished.code, code, finished.err);
      assert.match(finished.err, pattern);
      assert.equal(finished.out, '');
      assert.ok(!existsSync(join(home, 'keys')), 'nothing was made');
    });
  }

  it('a bad private key is not repeated in the refusal', async () => {
    const secret = 'c2VjcmV0IHRoYXQgaXMgbm8ga2V5';
    const { err } = await run(home, ['identity', ...bring('--priv', '-')], { stdin: secret });
    assert.match(err, /standard input does not hold a key/);
    assert.ok(!err.includes(secret));
  });

  it('a key folder that others may write to ends with 78', async () => {
    const open = join(home, 'open');
    mkdirSync(open);
    chmodSync(open, 0o777);
    const { code, err } = await run(home, ['identity', 'generate', '--agent-id', AGENT, '--key-dir', open]);
    assert.equal(code, 78);
    assert.match(err, /chmod 700/);
  });
});

describe('store --sign', () => {
  const home = temporaryFolder('cli-sign');
  const store = (...args: string[]) => run(home, ['store', '-T', 't', '-c', 'c', '--sign', ...args]);

  it('without the agent’s key says which command makes one', async () => {
    const { code, err } = await store('--agent-id', AGENT, '--json');
    assert.equal(code, 1);
    const failure = json(err);
    assert.equal(failure.code, 'ATTESTATION_FAILED');
    assert.match(failure.error, /"identity generate --agent-id ai:writer" makes one/);
    assert.equal(json((await run(home, ['list', '--json'])).out).count, 0);
  });

  it('without a named agent asks for one', async () => {
    const { code, err } = await store();
    assert.equal(code, 2);
    assert.match(err, /--agent-id or SVC_AGENT_ID/);
  });

  it('with a key that others may read ends with 78', async () => {
    await run(home, ['identity', 'generate', '--agent-id', 'ai:loose']);
    chmodSync(join(home, 'keys', 'ai:loose.priv'), 0o640);
    const { code, err } = await store('--agent-id', 'ai:loose');
    assert.equal(code, 78);
    assert.match(err, /chmod 600/);
  });

  it('is a flag of the command line alone', async () => {
    const { out } = await run(home, ['store', '--help']);
    assert.match(out, /--sign +Sign with the key file of the agent/);
  });
});

/** The command that makes the node accept the key file. */
const BINDS = /"agents bind-key --agent-id ai:writer"/;

describe('store --sign with a bound key', () => {
  const home = temporaryFolder('cli-sign-bound');
  const env = { SVC_REQUIRE_AGENT_ATTESTATION: '1' };
  const mnemesh = (...args: string[]) => run(home, args, { env });

  it('is attested by the agent; without --sign the agent is refused', async () => {
    await mnemesh('identity', 'generate', '--agent-id', AGENT);
    const { public_key } = json((await mnemesh('identity', 'export-pub', '--agent-id', AGENT, '--json')).out);
    assert.equal(
      (await mnemesh('agents', 'register', '--agent-id', AGENT, '--agent-type', 'ai:test')).code,
      0,
    );
    const unbound = await mnemesh('store', '-T', 't', '-c', 'c', '--sign', '--agent-id', AGENT);
    assert.deepEqual([unbound.code, /no public key is bound/.test(unbound.err)], [1, true], unbound.err);
    assert.match(unbound.err, /"agents register"/);
    assert.match(unbound.err, BINDS);
    assert.doesNotMatch(unbound.err, /add --sign/);
    const bound = await mnemesh('agents', 'bind-key', '--agent-id', AGENT, '--pubkey', public_key);
    assert.equal(bound.code, 0, bound.err);

    const stored = await mnemesh('store', '-T', ' t ', '-c', 'c', '--sign', '--agent-id', AGENT, '--json');
    assert.equal(stored.code, 0, stored.err);
    const { memory } = json((await mnemesh('get', json(stored.out).id, '--json')).out);
    assert.equal(memory.metadata.attest_level, 'agent_attested');
    assert.equal(memory.metadata.attested_by, undefined);

    const unsigned = await mnemesh('store', '-T', 'u', '-c', 'c', '--agent-id', AGENT);
    assert.deepEqual([unsigned.code, /sign the write/.test(unsigned.err)], [1, true], unsigned.err);
    assert.match(unsigned.err, /add --sign/);
  });

  it('after a rotation is refused until the new key is bound', async () => {
    const sign = (title: string) => mnemesh('store', '-T', title, '-c', 'c', '--sign', '--agent-id', AGENT);
    const rotated = await mnemesh('identity', 'generate', '--agent-id', AGENT, '--force', '--json');
    const refused = await sign('v');
    assert.match(refused.err, /does not verify/);
    assert.match(refused.err, BINDS);
    assert.doesNotMatch(refused.err, /add --sign|agents register/);
    const { public_key } = json(rotated.out);
    await mnemesh('agents', 'bind-key', '--agent-id', AGENT, '--pubkey', public_key);
    assert.equal((await sign('v')).code, 0);
  });
});

describe('a process that is bound to one agent', () => {
  const home = temporaryFolder('cli-bound');
  const asBob = { env: { SVC_AGENT_ID: 'ai:bob', SVC_ADMIN_AGENT_IDS: 'ai:admin' } };
  const asAdmin = { env: { ...asBob.env, SVC_AGENT_ID: 'ai:admin' } };
  const key = ['--pubkey', agentKey('ai:bob').publicKeyText];
  const code = ({ err }: { err: string }) => (err === '' ? 'ok' : json(err).code);

  it('neither binds nor revokes keys, and is no admin by naming one', async () => {
    const named = (agent: string) => ['--agent-id', agent, '--json'];
    await run(home, ['agents', 'register', '--agent-type', 'human', ...named(AGENT)]);
    const bind = ['agents', 'bind-key', ...key, ...named(AGENT)];
    const revoke = ['agents', 'revoke-key', ...named(AGENT)];
    assert.equal(code(await run(home, bind, asBob)), 'ADMIN_REQUIRED');
    assert.equal(code(await run(home, revoke, asBob)), 'ADMIN_REQUIRED');
    const register = ['agents', 'register', '--agent-type', 'human', ...named('ai:admin')];
    assert.equal(code(await run(home, register, asBob)), 'FORBIDDEN');
    assert.equal(code(await run(home, ['export', ...named('ai:admin')], asBob)), 'ADMIN_REQUIRED');
    const purged = await run(home, ['archive', 'purge', ...named('ai:admin')], asBob);
    assert.equal(json(purged.out).owner_scope, 'caller');

    for (const words of [bind, revoke, register]) assert.equal(code(await run(home, words, asAdmin)), 'ok');
    assert.equal(code(await run(home, bind)), 'ok');
  });
});
