import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { temporaryFolder } from '../../support/daemon-process.js';
import { commandsIn } from './cli-process.js';

const TITLE = 'pay \u202eecila\u2069 now\u2028m2|forged';
const CONTENT = 'kittens \u2066sleep\u2029 here \u200f';
/** What a terminal obeys, or shows as the end of a line. */
const OBEYED = /(?![\n\t])[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u;

describe('the command line, about a memory whose text would steer a terminal', () => {
  it('prints nothing that a terminal obeys, and in JSON the same values', async () => {
    const home = temporaryFolder('hostile-text');
    const mnemesh = commandsIn(home);
    const stored = await mnemesh('store', '-T', TITLE, '-c', CONTENT, '--tags', 'a\u202eb', '--json');
    assert.equal(stored.code, 0, stored.err);
    const { id } = JSON.parse(stored.out) as { id: string };
    for (const args of [
      ['get', id],
      ['get', id, '--json'],
      ['list'],
      ['recall', 'kittens'],
      ['recall', 'kittens', '--format', 'toon'],
      ['recall', 'kittens', '--format', 'toon_compact'],
      ['search', 'kittens', '--json'],
      ['export'],
      ['kg', 'query', id],
      ['store', '-T', TITLE, '-c', CONTENT],
      ['get', '\u202eno-such\u001b[2J'],
      ['nothing\u202e\u001b[2J'],
    ]) {
      const { out, err } = await mnemesh(...args);
      const found = OBEYED.exec(out + err);
      assert.equal(found, null, `${JSON.stringify(args)}: U+${found?.[0].charCodeAt(0).toString(16)}`);
      assert.ok(out + err !== '', args[0]);
    }
    const shown = JSON.parse((await mnemesh('get', id, '--json')).out) as { memory: Record<string, unknown> };
    assert.deepEqual([shown.memory['title'], shown.memory['content']], [TITLE, CONTENT]);
    const exported = JSON.parse((await mnemesh('export')).out) as { memories: Record<string, unknown>[] };
    assert.equal(exported.memories[0]!['title'], TITLE);
  });
});
