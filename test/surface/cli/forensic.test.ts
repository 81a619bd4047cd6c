import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { checkBundle } from '../../../cli/forensic/bundle.js';
import { filesOfTar } from '../../../cli/forensic/tar.js';
import { loadMachineIdentity } from '../../../node/identity/machine-key.js';
import { systemCrypto, systemRandom } from '../../../node/seams.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { commandsIn } from './cli-process.js';

const SECRET = 'the vault opens at nine';

describe('a forensic bundle', { timeout: 180_000 }, () => {
  const home = temporaryFolder('forensic');
  const cli = commandsIn(home);
  const shown = async (...words: string[]) => {
    const { code, out, err } = await cli(...words);
    assert.equal(code, 0, err);
    return out;
  };

  it('has no content unless asked, is written for its owner alone, and is verified here and with the key elsewhere', async () => {
    const stored = JSON.parse(await shown('store', '--title', 'vault', '--content', SECRET, '--json')) as {
      id: string;
    };
    const other = JSON.parse(await shown('store', '--title', 'door', '--content', 'the door', '--json')) as {
      id: string;
    };
    await shown('link', stored.id, other.id, '--relation', 'derived_from');
    const [path, full] = [join(home, 'a.tar'), join(home, 'b.tar')];
    await shown(
      'export-forensic-bundle',
      '--memory-id',
      stored.id,
      '--include-reflections',
      '--output',
      path,
    );
    const options = ['--include-content', '--include-transcripts', '--output', full];
    await shown('export-forensic-bundle', '--memory-id', stored.id.slice(0, 8), ...options);
    assert.equal(readFileSync(path).includes(SECRET), false);
    assert.equal(readFileSync(path).includes('"vault"'), false);
    assert.equal(readFileSync(full).includes(SECRET), true);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    const names = filesOfTar(readFileSync(path))!.map(({ name }) => name);
    assert.deepEqual(names, [
      ...[
        'manifest.json',
        'manifest.sig',
        'memory.json',
        'ancestors.json',
        'descendants.json',
        'audit.jsonl',
      ],
    ]);
    const report = JSON.parse(await shown('verify-forensic-bundle', path, '--json')) as Record<
      string,
      unknown
    >;
    assert.deepEqual(
      [report['verified'], report['memory_id'], report['with_content']],
      [true, stored.id, false],
    );
    assert.ok(Number(report['audit_rows']) >= 1, 'the link is in the chain');

    const elsewhere = commandsIn(temporaryFolder('forensic-elsewhere'));
    const unknown = await elsewhere('verify-forensic-bundle', path);
    assert.equal(unknown.code, 5, unknown.err);
    const key = String(report['public_key']);
    assert.equal((await elsewhere('verify-forensic-bundle', path, '--key', key)).code, 0);
    assert.equal((await elsewhere('verify-forensic-bundle', path, '--key', 'x')).code, 2);
    assert.equal(
      (await cli('export-forensic-bundle', '--memory-id', stored.id, '--include-transcripts')).code,
      2,
    );
    assert.equal((await cli('export-forensic-bundle', '--memory-id', 'ffffffff-none')).code, 1);
  });

  it('shows every byte that is changed, and every one that is added or cut', async () => {
    const path = join(home, 'a.tar');
    const bytes = readFileSync(path);
    const { key } = loadMachineIdentity(join(home, 'keys'), systemRandom);
    const isWhole = (archive: Uint8Array) => checkBundle(archive, systemCrypto, [key.publicKey]).ok;
    assert.equal(isWhole(bytes), true);
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes);
      changed[at] = changed[at]! ^ 1;
      assert.equal(isWhole(changed), false, `byte ${at}`);
    }
    assert.equal(isWhole(Buffer.concat([bytes, Buffer.alloc(512)])), false);
    assert.equal(isWhole(bytes.subarray(0, -512)), false);
    const changed = Buffer.from(bytes);
    changed[bytes.length >> 1] = changed[bytes.length >> 1]! ^ 1;
    const file = join(home, 'changed.tar');
    writeFileSync(file, changed);
    const { code, err } = await cli('verify-forensic-bundle', file);
    assert.equal(code, 2);
    assert.match(err, /not what the node wrote/);
    assert.equal((await cli('verify-forensic-bundle', join(home, 'none.tar'))).code, 1);
  });
});
