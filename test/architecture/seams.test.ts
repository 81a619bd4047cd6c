import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sourceFiles } from './source-files.js';

/** What only a seam may touch (design: architecture, "Seams"). */
const AMBIENT: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['Date.now', /\bDate\.now\b/],
  ['new Date()', /\bnew Date\(\s*\)/],
  ['performance.now', /\bperformance\.now\b/],
  ['hrtime', /\bhrtime\b/],
  ['Math.random', /\bMath\.random\b/],
  ['randomUUID', /\brandomUUID\b/],
  ['getRandomValues', /\bgetRandomValues\b/],
  ['randomBytes', /\brandomBytes\b/],
  ['setTimeout', /(?<![.\w])setTimeout\s*\(/],
  ['setInterval', /(?<![.\w])setInterval\s*\(/],
  ['setImmediate', /(?<![.\w])setImmediate\s*\(/],
  ['queueMicrotask', /\bqueueMicrotask\b/],
  ['process.nextTick', /\bprocess\.nextTick\b/],
  ['AbortSignal.timeout', /\bAbortSignal\.timeout\b/],
  ['fetch', /(?<![.\w])fetch\s*\(/],
  [
    'asynchronous zlib',
    /\bcreate(Gzip|Gunzip|Deflate|Inflate|Unzip|Brotli\w+|Zstd\w+)\b|\b(gzip|gunzip|deflate|inflate|unzip)\b[^']*'node:zlib'/,
  ],
];

const SQL_AMBIENT =
  /\b(datetime\(|CURRENT_TIMESTAMP|strftime\(|julianday\(|unixepoch\(|randomblob\(|random\(\))/i;

/** The real seams. `cli/dev` runs before anything is built. */
const SEAM_FILES = new Set(['node/seams.ts']);
const FLOORS = ['protocol', 'storage', 'actors', 'node', 'cli'];

const files = FLOORS.flatMap((floor) => sourceFiles(floor)).filter((file) => !SEAM_FILES.has(file.path));

describe('seams', () => {
  for (const [name, pattern] of AMBIENT) {
    it(`nothing but the seams uses ${name}`, () => {
      assert.deepEqual(
        files.filter((file) => pattern.test(file.code)).map((file) => file.path),
        [],
      );
    });
  }

  it('no SQL asks the database for time or chance', () => {
    assert.deepEqual(
      files.filter((file) => SQL_AMBIENT.test(file.code)).map((file) => file.path),
      [],
    );
  });

  it('only the configuration loader reads the environment', () => {
    assert.deepEqual(
      files
        .filter((file) => /\bprocess\.env\b/.test(file.code))
        .map((file) => file.path)
        .filter((path) => path !== 'node/config/load-settings.ts'),
      [],
    );
  });

  it('only protocol/base/limits.ts and the settings name limits of the interface', () => {
    const magic = /\b(2 \* 1024 \* 1024|31_?536_?000|604_?800)\b/;
    assert.deepEqual(
      files
        .filter((file) => file.path !== 'protocol/base/limits.ts' && magic.test(file.code))
        .map((file) => file.path),
      [],
    );
  });
});
