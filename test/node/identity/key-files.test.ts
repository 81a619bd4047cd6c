import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { KeyFileError, newSeed, signerOf } from '../../../node/identity/key-file.js';
import {
  installPublicKey,
  installSeed,
  keyLabelProblem,
  loadAgentKey,
  publicKeyOf,
} from '../../../node/identity/key-files.js';
import { listKeys } from '../../../node/identity/list-keys.js';
import { loadMachineIdentity } from '../../../node/identity/machine-key.js';
import { systemCrypto, systemRandom } from '../../../node/seams.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { agentKey } from '../../support/signing.js';
import { until } from '../../support/wait.js';

const NOW_MS = Date.parse('2026-07-28T12:00:00Z');
const SECONDS = NOW_MS / 1000;
const A = agentKey('ai:a').signer.publicKey;

const newKeyDir = () => join(temporaryFolder('key-files'), 'keys');
const change = (keyDir: string, agentId: string, force = false) => ({
  keyDir,
  agentId,
  force,
  nowMs: NOW_MS,
  random: systemRandom,
});
const modeOf = (path: string) => statSync(path).mode & 0o777;
const filesOf = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(folder, name)).isFile())
    .sort();
const codeOf = (result: ReturnType<typeof installSeed>) => (result.ok ? 'ok' : result.error.code);

function installed(keyDir: string, agentId: string, force = false) {
  const result = installSeed(change(keyDir, agentId, force), newSeed());
  assert.ok(result.ok, JSON.stringify(result));
  return result.value;
}

const hexOf = (bytes: Uint8Array | null) => (bytes === null ? null : Buffer.from(bytes).toString('hex'));

describe('the key files of an agent', () => {
  it('are 32 raw bytes each, 0600 and 0644, in 0700 folders, under any umask', () => {
    for (const mask of [0, 0o022, 0o077]) {
      const before = process.umask(mask);
      try {
        const keyDir = newKeyDir();
        const { publicKey, publicPath } = installed(keyDir, 'ai:team/writer');
        assert.deepEqual(filesOf(keyDir), ['ai:team/writer.priv', 'ai:team/writer.pub']);
        assert.equal(modeOf(keyDir), 0o700);
        assert.equal(modeOf(join(keyDir, 'ai:team')), 0o700);
        assert.equal(modeOf(join(keyDir, 'ai:team/writer.priv')), 0o600);
        assert.equal(modeOf(publicPath), 0o644);
        assert.equal(readFileSync(join(keyDir, 'ai:team/writer.priv')).length, 32);
        assert.deepEqual(readFileSync(publicPath), Buffer.from(publicKey));
      } finally {
        process.umask(before);
      }
    }
  });

  it('sign what their public key verifies, and an agent without them has no key', () => {
    const keyDir = newKeyDir();
    const { publicKey } = installed(keyDir, 'ai:a');
    const key = loadAgentKey(keyDir, 'ai:a');
    const data = Buffer.from('some bytes');
    assert.ok(key !== null && systemCrypto.verify(publicKey, data, key.sign(data)));
    assert.equal(loadAgentKey(keyDir, 'ai:b'), null);
    assert.equal(loadAgentKey(join(keyDir, 'no such folder'), 'ai:a'), null);
    assert.equal(loadAgentKey(keyDir, 'ai:a/below'), null);
    assert.equal(publicKeyOf(keyDir, 'ai:b'), null);
  });

  it('are not overwritten, by a new key or by another that is imported', () => {
    const keyDir = newKeyDir();
    const { publicKey } = installed(keyDir, 'ai:a');
    const again = installSeed(change(keyDir, 'ai:a'), newSeed());
    assert.ok(!again.ok);
    assert.equal(again.error.code, 'CONFLICT');
    assert.match(again.error.message, /--force/);
    assert.equal(codeOf(installPublicKey(change(keyDir, 'ai:a'), A)), 'CONFLICT');
    assert.equal(hexOf(publicKeyOf(keyDir, 'ai:a')), hexOf(publicKey));
    assert.deepEqual(filesOf(keyDir), ['ai:a.priv', 'ai:a.pub']);
  });

  it('may be given the same key again, and the private key of a public one that is there', () => {
    const keyDir = newKeyDir();
    const { seed } = agentKey('ai:a');
    assert.equal(codeOf(installPublicKey(change(keyDir, 'ai:a'), A)), 'ok');
    assert.equal(loadAgentKey(keyDir, 'ai:a'), null);
    assert.equal(codeOf(installSeed(change(keyDir, 'ai:a'), newSeed())), 'CONFLICT');
    assert.equal(loadAgentKey(keyDir, 'ai:a'), null, 'a refused key leaves nothing behind');
    for (let times = 0; times < 2; times += 1) {
      assert.equal(codeOf(installSeed(change(keyDir, 'ai:a'), seed)), 'ok');
      assert.equal(codeOf(installPublicKey(change(keyDir, 'ai:a'), A)), 'ok');
    }
    assert.equal(hexOf(loadAgentKey(keyDir, 'ai:a')?.publicKey ?? null), hexOf(A));
    assert.deepEqual(filesOf(keyDir), ['ai:a.priv', 'ai:a.pub']);
  });
});

describe('a forced rotation', () => {
  it('keeps the old public key by the second, and destroys the old private one', () => {
    const keyDir = newKeyDir();
    const old = installed(keyDir, 'ai:a');
    // A second name of the old file shows what became of its bytes.
    const witness = join(keyDir, 'witness');
    linkSync(join(keyDir, 'ai:a.priv'), witness);
    const next = installed(keyDir, 'ai:a', true);
    assert.equal(next.archivedPath, join(keyDir, `ai:a.pub.${SECONDS}`));
    assert.equal(hexOf(readFileSync(next.archivedPath!)), hexOf(old.publicKey));
    assert.deepEqual(readFileSync(witness), Buffer.alloc(32), 'the old seed is overwritten');
    assert.equal(hexOf(loadAgentKey(keyDir, 'ai:a')!.publicKey), hexOf(next.publicKey));
    assert.equal(hexOf(readFileSync(join(keyDir, 'ai:a.pub'))), hexOf(next.publicKey));
    assert.equal(modeOf(join(keyDir, 'ai:a.priv')), 0o600);
  });

  it('twice in a second keeps both old public keys', () => {
    const keyDir = newKeyDir();
    for (const force of [false, true, true]) installed(keyDir, 'ai:a', force);
    assert.deepEqual(filesOf(keyDir), [
      'ai:a.priv',
      'ai:a.pub',
      `ai:a.pub.${SECONDS}`,
      `ai:a.pub.${SECONDS + 1}`,
    ]);
  });

  it('replaces a key that others could read, and one that its owner may only read', () => {
    for (const mode of [0o644, 0o400]) {
      const keyDir = newKeyDir();
      installed(keyDir, 'ai:a');
      chmodSync(join(keyDir, 'ai:a.priv'), mode);
      const next = installed(keyDir, 'ai:a', true);
      assert.equal(hexOf(loadAgentKey(keyDir, 'ai:a')!.publicKey), hexOf(next.publicKey));
    }
  });

  it('to a public key from elsewhere leaves no private key', () => {
    const keyDir = newKeyDir();
    const old = installed(keyDir, 'ai:a');
    const result = installPublicKey(change(keyDir, 'ai:a', true), A);
    assert.ok(result.ok && result.value.archivedPath !== null);
    assert.equal(hexOf(readFileSync(result.value.archivedPath)), hexOf(old.publicKey));
    assert.equal(loadAgentKey(keyDir, 'ai:a'), null);
    assert.equal(hexOf(publicKeyOf(keyDir, 'ai:a')), hexOf(A));
  });

  it('mends a pair that a crash left half replaced', () => {
    const keyDir = newKeyDir();
    installed(keyDir, 'ai:a');
    const seed = newSeed();
    writeFileSync(join(keyDir, 'ai:a.priv'), seed);
    const { publicKey } = signerOf(seed);
    assert.equal(hexOf(publicKeyOf(keyDir, 'ai:a')), hexOf(publicKey), 'the private file decides');
    const next = installed(keyDir, 'ai:a', true);
    assert.equal(hexOf(readFileSync(join(keyDir, 'ai:a.pub'))), hexOf(next.publicKey));
  });
});

describe('a key file or folder that cannot be trusted', () => {
  const refusal = (act: () => unknown): string => {
    try {
      act();
    } catch (error) {
      assert.ok(error instanceof KeyFileError, String(error));
      return error.message;
    }
    return assert.fail('it was accepted');
  };

  it('is refused at load: a private key that others may read', () => {
    for (const mode of [0o640, 0o604, 0o620, 0o601]) {
      const keyDir = newKeyDir();
      installed(keyDir, 'ai:a');
      chmodSync(join(keyDir, 'ai:a.priv'), mode);
      assert.match(
        refusal(() => loadAgentKey(keyDir, 'ai:a')),
        /chmod 600/,
        mode.toString(8),
      );
    }
  });

  it('is refused: a folder on the way that others may write to', () => {
    for (const folder of ['.', 'team']) {
      for (const mode of [0o720, 0o702, 0o777]) {
        const keyDir = newKeyDir();
        installed(keyDir, 'team/a');
        chmodSync(join(keyDir, folder), mode);
        assert.match(
          refusal(() => loadAgentKey(keyDir, 'team/a')),
          /chmod 700/,
        );
        assert.match(
          refusal(() => installed(keyDir, 'team/b')),
          /chmod 700/,
        );
        assert.match(
          refusal(() => publicKeyOf(keyDir, 'team/a')),
          /chmod 700/,
        );
      }
    }
  });

  it('is refused: another length, zeros, a folder in the place of the file', () => {
    for (const bytes of [0, 31, 33, 64]) {
      const keyDir = newKeyDir();
      installed(keyDir, 'ai:a');
      writeFileSync(join(keyDir, 'ai:a.priv'), Buffer.alloc(bytes, 7));
      assert.match(
        refusal(() => loadAgentKey(keyDir, 'ai:a')),
        new RegExp(`holds ${bytes}`),
      );
    }
    const keyDir = newKeyDir();
    installed(keyDir, 'ai:a');
    writeFileSync(join(keyDir, 'ai:a.priv'), Buffer.alloc(32));
    assert.match(
      refusal(() => loadAgentKey(keyDir, 'ai:a')),
      /only zeros/,
    );
    unlinkSync(join(keyDir, 'ai:a.priv'));
    mkdirSync(join(keyDir, 'ai:a.priv'));
    assert.match(
      refusal(() => loadAgentKey(keyDir, 'ai:a')),
      /EISDIR/,
    );
  });

  it('is refused: an id whose folder is the key file of another agent', () => {
    const keyDir = newKeyDir();
    installed(keyDir, 'ai:a');
    assert.match(
      refusal(() => installed(keyDir, 'ai:a.priv/b')),
      /is not a folder/,
    );
    assert.equal(loadAgentKey(keyDir, 'ai:a.priv/b'), null);
  });
});

describe('an agent id', () => {
  const HOSTILE = [
    'daemon',
    'Daemon',
    'DAEMON',
    'system',
    'curator',
    '',
    '/etc/key',
    '../outside',
    'a/../../outside',
    'a//b',
    'a/',
    './daemon',
    'a/./b',
    '.',
    'a b',
    'a\0b',
    'a\\b',
    'a\nb',
    'x'.repeat(129),
  ];

  it('that leads out of the folder, to the machine’s key, or is reserved has no key files', () => {
    const keyDir = newKeyDir();
    const machine = loadMachineIdentity(keyDir, systemRandom);
    for (const agentId of HOSTILE) {
      assert.notEqual(keyLabelProblem(agentId), null, JSON.stringify(agentId));
      assert.equal(loadAgentKey(keyDir, agentId), null);
      assert.throws(() => installSeed(change(keyDir, agentId, true), newSeed()), KeyFileError);
      assert.throws(() => installPublicKey(change(keyDir, agentId, true), A), KeyFileError);
    }
    assert.deepEqual(filesOf(join(keyDir, '..')), ['keys/daemon.priv', 'keys/daemon.pub']);
    assert.equal(loadMachineIdentity(keyDir, systemRandom).peerId, machine.peerId);
  });

  it('of every other kind has its own', () => {
    const keyDir = newKeyDir();
    const ids = [
      'ai:x@host:pid-1',
      'a',
      'a/b',
      'a.pub',
      'a.priv',
      'daemon/x',
      'daemon2',
      '.hidden',
      'x'.repeat(128),
    ];
    const keys = ids.map((agentId) => hexOf(installed(keyDir, agentId).publicKey));
    assert.equal(new Set(keys).size, ids.length);
    for (const [index, agentId] of ids.entries()) {
      assert.equal(hexOf(loadAgentKey(keyDir, agentId)!.publicKey), keys[index], agentId);
    }
    assert.deepEqual(
      listKeys(keyDir).map(({ agent_id }) => agent_id),
      [...ids].sort(),
    );
  });
});

describe('the list of keys', () => {
  it('has agents, peers and the machine, and says what is wrong with each', () => {
    const keyDir = newKeyDir();
    assert.deepEqual(listKeys(keyDir), []);
    const { peerId } = loadMachineIdentity(keyDir, systemRandom);
    for (const agentId of ['ai:good', 'ai:loose', 'ai:writable', 'team/torn']) installed(keyDir, agentId);
    installed(keyDir, 'ai:good', true);
    installPublicKey(change(keyDir, 'peer-1'), A);
    chmodSync(join(keyDir, 'ai:loose.priv'), 0o644);
    chmodSync(join(keyDir, 'ai:writable.pub'), 0o666);
    writeFileSync(join(keyDir, 'team/torn.priv'), 'short');
    writeFileSync(join(keyDir, 'notes.txt'), 'no key');
    symlinkSync('/nowhere', join(keyDir, 'dangling.pub'));
    const rows = listKeys(keyDir);
    assert.deepEqual(
      rows.map((row) => [row.agent_id, row.has_private, row.modes_ok, row.problem === null]),
      [
        ['ai:good', true, true, true],
        ['ai:loose', true, false, false],
        ['ai:writable', true, false, true],
        ['daemon', true, true, true],
        ['peer-1', false, true, true],
        ['team/torn', true, true, false],
      ],
    );
    assert.equal(`peer-${rows[3]!.fingerprint!.slice(0, 16)}`, peerId);
    assert.match(rows[1]!.problem!, /chmod 600/);
    assert.match(rows[4]!.public_key!, /^[\w-]{43}$/);
  });
});

describe('a reader during rotations', () => {
  it('always has a whole key, never the erased one', async () => {
    const keyDir = newKeyDir();
    installed(keyDir, 'ai:a');
    const script = fileURLToPath(new URL('./make-agent-key.js', import.meta.url));
    const child = spawn(process.execPath, [script, keyDir, 'ai:a', 'rotate'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    assert.equal((await lines.next()).value, 'ready');
    child.stdin.end('go\n');
    let last: string | null = null;
    const answer = lines.next().then(({ value }) => {
      last = value as string;
    });
    const seen = new Set<string | null>();
    const look = () => {
      seen.add(hexOf(loadAgentKey(keyDir, 'ai:a')?.publicKey ?? null));
      return last !== null;
    };
    await until('the rotations end', look, { withinMs: 60_000, everyMs: 0 });
    await answer;
    assert.ok(!seen.has(null));
    assert.ok(seen.size > 1, 'it met several keys');
    assert.equal(hexOf(loadAgentKey(keyDir, 'ai:a')!.publicKey), last);
  });
});

describe('eight processes that make the key of one agent at once', () => {
  const race = async (keyDir: string, mode: 'first' | 'force') => {
    const script = fileURLToPath(new URL('./make-agent-key.js', import.meta.url));
    const children = Array.from({ length: 8 }, () => {
      const child = spawn(process.execPath, [script, keyDir, 'ai:a', mode], {
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() };
    });
    for (const { lines } of children) assert.equal((await lines.next()).value, 'ready');
    for (const { child } of children) child.stdin.end('go\n');
    return Promise.all(children.map(async ({ lines }) => (await lines.next()).value as string));
  };

  it('leave one winner', async () => {
    const keyDir = newKeyDir();
    const answers = await race(keyDir, 'first');
    const winners = answers.filter((answer) => answer !== 'CONFLICT');
    assert.equal(winners.length, 1, answers.join('\n'));
    assert.equal(hexOf(loadAgentKey(keyDir, 'ai:a')!.publicKey), winners[0]);
    assert.deepEqual(filesOf(keyDir), ['ai:a.priv', 'ai:a.pub']);
    assert.equal(hexOf(readFileSync(join(keyDir, 'ai:a.pub'))), winners[0]);
  });

  it('with force leave a pair that fits together, and no draft', async () => {
    const keyDir = newKeyDir();
    installed(keyDir, 'ai:a');
    const answers = await race(keyDir, 'force');
    assert.ok(
      answers.every((answer) => /^[0-9a-f]{64}$/.test(answer)),
      answers.join('\n'),
    );
    const key = hexOf(loadAgentKey(keyDir, 'ai:a')!.publicKey);
    assert.equal(hexOf(readFileSync(join(keyDir, 'ai:a.pub'))), key);
    assert.ok(answers.includes(key!));
    assert.ok(existsSync(join(keyDir, `ai:a.pub.${SECONDS}`)));
    assert.deepEqual(
      filesOf(keyDir).filter((name) => !name.startsWith('ai:a.')),
      [],
    );
  });
});
