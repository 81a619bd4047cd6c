import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import fc from 'fast-check';
import { findFormat } from '../../../cli/imports/find-format.js';
import type { SourceFile } from '../../../cli/mine/source-file.js';
import { UnreadableError } from '../../../cli/mine/text-of.js';
import { PROJECT } from '../../architecture/source-files.js';

const SOURCES = [
  'mem0.json',
  'memory.json',
  'letta.af',
  'letta-quoted.af',
  'letta-passages.json',
  'table.csv',
  'rows.jsonl',
  'notes/projects/deploy.md',
  'basic-memory/coffee/Coffee brewing methods.md',
];

const fileOf = (path: string, bytes: Buffer): SourceFile => ({
  path,
  size: bytes.length,
  async *read(bytesMax) {
    yield bytes.subarray(0, bytesMax);
  },
});

it('a source that is damaged anywhere is read, told, or refused in words', { timeout: 120_000 }, async () => {
  const fixtures = SOURCES.map((path) => ({
    path,
    bytes: readFileSync(join(PROJECT, 'fixtures/import', path)),
  }));
  const damage = fc.record({
    source: fc.constantFrom(...fixtures),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    removed: fc.nat(40),
    put: fc.oneof(
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.constantFrom('"', '{', ']', 'null', '\n', '---\n'),
    ),
  });
  await fc.assert(
    fc.asyncProperty(damage, async ({ source: { path, bytes }, at, removed, put }) => {
      const from = Math.floor(at * bytes.length);
      const damaged = Buffer.concat([
        bytes.subarray(0, from),
        Buffer.from(put),
        bytes.subarray(from + removed),
      ]);
      const found = await findFormat([fileOf(path, damaged)], { path, wanted: null });
      if (!found.ok) {
        assert.match(found.error.message, /import takes/);
        return;
      }
      for (const { file, format } of found.value.format === 'mnemesh' ? [] : found.value.files) {
        try {
          for await (const row of format.read(file, (what) => assert.notEqual(what, '')))
            for (const text of [row.key, row.content, row.from, ...row.names, ...row.tags])
              assert.equal(typeof text, 'string');
        } catch (error) {
          if (!(error instanceof UnreadableError)) throw error;
        }
      }
    }),
    { numRuns: 400 },
  );
});

it('a table whose quotes are wrong, or whose file fails, is refused in words', async () => {
  const path = 'table.csv';
  const read = async (file: SourceFile) => {
    const found = await findFormat([file], { path, wanted: 'csv' });
    assert.ok(found.ok && found.value.format !== 'mnemesh');
    const [{ format }] = found.value.files as [(typeof found.value.files)[number]];
    for await (const row of format.read(file, () => undefined)) assert.ok(row.content);
  };
  const wrong = fileOf(path, Buffer.from('Title;T"ext\r\na;b\r\n'));
  await assert.rejects(read(wrong), (error) => {
    assert.ok(error instanceof UnreadableError, String(error));
    assert.match(error.message, /is no table: .*line 1/);
    return true;
  });
  const failing: SourceFile = {
    ...{ path, size: 20 },
    async *read(bytesMax) {
      yield Buffer.from('title,text\na,b\n');
      if (bytesMax === undefined) throw Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' });
    },
  };
  await assert.rejects(read(failing), { code: 'EIO' });
});
