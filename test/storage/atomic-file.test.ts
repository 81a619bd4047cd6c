import assert from 'node:assert/strict';
import { linkSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { placeFile } from '../../storage/atomic-file.js';
import { temporaryFolder } from '../support/daemon-process.js';

describe('a file that is placed whole', () => {
  it('replaces the one of its name, with its own mode, although a killed process left a draft', () => {
    const folder = temporaryFolder('atomic');
    const [path, draft] = [join(folder, 'a'), join(folder, 'a.next')];
    writeFileSync(path, 'before', { mode: 0o644 });
    writeFileSync(draft, 'half');
    placeFile({ path, draft, content: 'after', mode: 0o600 });
    assert.deepEqual([readdirSync(folder), readFileSync(path, 'utf8')], [['a'], 'after']);
    assert.equal(statSync(path).mode & 0o777, 0o600);
  });

  it('leaves no draft where it was not placed, and says what the placing said', () => {
    const folder = temporaryFolder('atomic');
    const [path, draft] = [join(folder, 'a'), join(folder, 'a.next')];
    writeFileSync(path, 'before');
    const file = { path, draft, content: 'after', mode: 0o600 };
    assert.equal(
      placeFile(file, () => false),
      false,
    );
    assert.throws(() => placeFile(file, (from) => linkSync(from, path)), { code: 'EEXIST' });
    assert.deepEqual([readdirSync(folder), readFileSync(path, 'utf8')], [['a'], 'before']);
  });
});
