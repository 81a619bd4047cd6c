import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ConfigError, inspectConfiguration, loadSettings } from '../../../node/config/load-settings.js';
import { storeQuorum } from '../../../node/config/stored-quorum.js';
import { temporaryFolder } from '../../support/daemon-process.js';

function homeWithMesh(): string {
  const home = temporaryFolder('stored-quorum');
  mkdirSync(join(home, 'mesh'));
  return home;
}

const quorumOf = (home: string, flags: { readonly quorumWrites?: number } = {}) => {
  const { settings, origins } = inspectConfiguration({ home, ...flags }, { env: {} });
  return [settings.quorumWrites, origins.get('quorumWrites')?.source];
};

describe('the quorum that a mesh was formed with', () => {
  it('is the default where none was given, with and without a mesh', () => {
    const usual = quorumOf(temporaryFolder('stored-quorum'));
    assert.equal(usual[1], 'default');
    assert.deepEqual(quorumOf(homeWithMesh()), usual);
  });

  it('is kept for every later start, closed to others, and the last one counts', () => {
    const home = homeWithMesh();
    storeQuorum(home, 2);
    storeQuorum(home, 3);
    assert.deepEqual(quorumOf(home), [3, 'mesh']);
    const path = join(home, 'mesh', 'quorum.json');
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.equal(readFileSync(path, 'utf8'), '{"writes":3}\n');
  });

  it('gives way to what the operator sets', () => {
    const home = homeWithMesh();
    storeQuorum(home, 3);
    writeFileSync(join(home, 'config.toml'), '[quorum]\nwrites = 2\n');
    assert.deepEqual(quorumOf(home), [2, 'file']);
    assert.deepEqual(quorumOf(home, { quorumWrites: 0 }), [0, 'flag']);
  });

  it('refuses the start when its file cannot be read, and says what to do', () => {
    for (const text of [
      '',
      '{',
      'null',
      '{"writes":"2"}',
      '{"writes":-1}',
      '{"writes":2.5}',
      '{"writes":2,"x":1}',
    ]) {
      const home = homeWithMesh();
      const path = join(home, 'mesh', 'quorum.json');
      writeFileSync(path, text);
      const refused = (error: Error) => error instanceof ConfigError && error.message.includes(path);
      assert.throws(() => loadSettings({ home }, { env: {}, report: () => undefined }), refused, text);
      const { problems } = inspectConfiguration({ home }, { env: {} });
      assert.match(problems.find(({ level }) => level === 'fatal')?.fix ?? '', /\{"writes":2\}|remove/);
    }
    const home = homeWithMesh();
    mkdirSync(join(home, 'mesh', 'quorum.json'));
    assert.throws(() => loadSettings({ home }, { env: {}, report: () => undefined }), ConfigError);
  });
});
