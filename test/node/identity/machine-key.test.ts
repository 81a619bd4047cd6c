import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash, createPublicKey, verify } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { KeyFileError, loadMachineIdentity } from '../../../node/identity/machine-key.js';
import { systemRandom } from '../../../node/seams.js';

const folder = mkdtempSync(join(tmpdir(), 'mnemesh-keys-'));
after(() => rmSync(folder, { recursive: true, force: true }));

let made = 0;
function newKeyDir(): string {
  made += 1;
  return join(folder, `home-${made}`, 'keys');
}

const load = (keyDir: string) => loadMachineIdentity(keyDir, systemRandom);
const modeOf = (path: string) => statSync(path).mode & 0o777;

/** A key folder with a private key of the given bytes and modes. */
function written(bytes: number, fileMode: number, folderMode = 0o700): string {
  const keyDir = newKeyDir();
  mkdirSync(keyDir, { recursive: true, mode: 0o700 });
  writeFileSync(join(keyDir, 'daemon.priv'), Buffer.alloc(bytes, 7));
  chmodSync(join(keyDir, 'daemon.priv'), fileMode);
  chmodSync(keyDir, folderMode);
  return keyDir;
}

function refusal(keyDir: string): string {
  try {
    load(keyDir);
  } catch (error) {
    assert.ok(error instanceof KeyFileError, String(error));
    return error.message;
  }
  return assert.fail('the key was taken');
}

describe('the key of a machine', () => {
  it('is made at the first run: 32 bytes, 0600, in a 0700 folder, and nothing else left behind', () => {
    const keyDir = newKeyDir();
    load(keyDir);
    assert.deepEqual(readdirSync(keyDir).sort(), ['daemon.priv', 'daemon.pub']);
    assert.equal(modeOf(keyDir), 0o700);
    assert.equal(modeOf(join(keyDir, 'daemon.priv')), 0o600);
    assert.equal(modeOf(join(keyDir, 'daemon.pub')), 0o644);
    assert.equal(readFileSync(join(keyDir, 'daemon.priv')).length, 32);
  });

  it('keeps its modes under any umask', () => {
    const before = process.umask(0);
    try {
      const open = newKeyDir();
      load(open);
      assert.equal(modeOf(open), 0o700);
      assert.equal(modeOf(join(open, 'daemon.priv')), 0o600);
      process.umask(0o077);
      const closed = newKeyDir();
      load(closed);
      assert.equal(modeOf(join(closed, 'daemon.pub')), 0o644);
    } finally {
      process.umask(before);
    }
  });

  it('is the same at the next run, and another on another machine', () => {
    const keyDir = newKeyDir();
    const [first, second, other] = [load(keyDir), load(keyDir), load(newKeyDir())];
    assert.equal(second.peerId, first.peerId);
    assert.deepEqual(second.key.publicKey, first.key.publicKey);
    assert.notEqual(other.peerId, first.peerId);
    assert.deepEqual(readFileSync(join(keyDir, 'daemon.pub')), Buffer.from(first.key.publicKey));
  });

  it('gives the peer its id, and signs what others can verify', () => {
    const { peerId, key } = load(newKeyDir());
    const digest = createHash('sha256').update(key.publicKey).digest('hex');
    assert.equal(peerId, `peer-${digest.slice(0, 16)}`);
    const data = Buffer.from('some bytes');
    const signature = key.sign(data);
    assert.equal(signature.length, 64);
    const spki = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), key.publicKey]);
    const publicKey = createPublicKey({ key: spki, format: 'der', type: 'spki' });
    assert.equal(verify(null, data, publicKey, signature), true);
    assert.equal(verify(null, Buffer.from('other bytes'), publicKey, signature), false);
  });

  it('follows from the seed alone (RFC 8032, 7.1, test 3)', () => {
    const keyDir = written(32, 0o600);
    const seed = 'c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7';
    writeFileSync(join(keyDir, 'daemon.priv'), Buffer.from(seed, 'hex'));
    const { key } = load(keyDir);
    assert.equal(
      Buffer.from(key.publicKey).toString('hex'),
      'fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025',
    );
    assert.equal(
      Buffer.from(key.sign(Buffer.from('af82', 'hex'))).toString('hex'),
      '6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a',
    );
  });

  it('is refused when others may read it', () => {
    for (const mode of [0o640, 0o604, 0o660, 0o644, 0o601, 0o610]) {
      assert.match(refusal(written(32, mode)), /chmod 600/, mode.toString(8));
    }
    assert.ok(load(written(32, 0o400)));
  });

  it('is refused in a folder that others may write to', () => {
    for (const mode of [0o770, 0o707, 0o722, 0o777]) {
      assert.match(refusal(written(32, 0o600, mode)), /chmod 700/, mode.toString(8));
    }
    assert.ok(load(written(32, 0o600, 0o755)));
  });

  it('is not made in a folder that others may write to', () => {
    const keyDir = newKeyDir();
    mkdirSync(keyDir, { recursive: true });
    chmodSync(keyDir, 0o777);
    assert.match(refusal(keyDir), /chmod 700/);
    assert.deepEqual(readdirSync(keyDir), []);
  });

  it('of another length is refused and left as it is', () => {
    for (const bytes of [0, 31, 33, 64]) {
      const keyDir = written(bytes, 0o600);
      const message = refusal(keyDir);
      assert.ok(message.includes(`holds ${bytes}`), message);
      assert.equal(readFileSync(join(keyDir, 'daemon.priv')).length, bytes);
    }
  });

  it('that cannot be read is refused by its path', () => {
    const keyDir = newKeyDir();
    mkdirSync(join(keyDir, 'daemon.priv'), { recursive: true });
    assert.match(refusal(keyDir), /daemon\.priv: EISDIR/);
  });

  it('never stands in a message', () => {
    const keyDir = written(31, 0o600);
    assert.ok(!refusal(keyDir).includes(Buffer.alloc(31, 7).toString('latin1')));
  });

  it('is made once by eight processes that start together', async () => {
    const keyDir = newKeyDir();
    const script = fileURLToPath(new URL('./make-identity.js', import.meta.url));
    const children = Array.from({ length: 8 }, () => {
      const child = spawn(process.execPath, [script, keyDir], { stdio: ['pipe', 'pipe', 'inherit'] });
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      return { child, lines };
    });
    for (const { lines } of children) assert.equal((await lines.next()).value, 'ready');
    for (const { child } of children) child.stdin.end('go\n');
    const answers = await Promise.all(
      children.map(async ({ lines }) => (await lines.next()).value as string),
    );
    assert.equal(new Set(answers).size, 1, answers.join('\n'));
    const { peerId, key } = load(keyDir);
    assert.ok(answers[0]!.startsWith(`${peerId} ${Buffer.from(key.publicKey).toString('hex')} `));
    assert.deepEqual(readdirSync(keyDir).sort(), ['daemon.priv', 'daemon.pub']);
    assert.deepEqual(readFileSync(join(keyDir, 'daemon.pub')), Buffer.from(key.publicKey));
  });
});
