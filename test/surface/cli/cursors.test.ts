import assert from 'node:assert/strict';
import { it } from 'node:test';
import { temporaryFolder } from '../../support/daemon-process.js';
import { run } from './cli-process.js';

it('a cursor of one process is good in the next one, for people and for programs', async () => {
  const home = temporaryFolder('cursors');
  for (const title of ['one', 'two', 'three']) {
    const stored = await run(home, ['store', '--title', title, '--content', `about ${title}`]);
    assert.equal(stored.code, 0, stored.err);
  }
  const seen: unknown[] = [];
  let cursor: string | undefined;
  do {
    const more = cursor === undefined ? [] : ['--cursor', cursor];
    const { code, out, err } = await run(home, ['list', '--limit', '1', '--json', ...more]);
    assert.equal(code, 0, err);
    const { memories, next_cursor: next } = JSON.parse(out);
    seen.push(...memories.map(({ title }: { title: string }) => title));
    cursor = next;
  } while (cursor !== undefined);
  assert.deepEqual(seen, ['three', 'two', 'one']);

  const shown = await run(home, ['list', '--limit', '2']);
  const [, given] = /^more follow: --cursor (\S+)$/m.exec(shown.out) ?? [];
  const rest = await run(home, ['list', '--cursor', given!]);
  assert.match(rest.out, /one[\s\S]*1 memory$/m);
  assert.doesNotMatch(rest.out, /three|more follow/);

  const changed = await run(home, ['list', '--tier', 'long', '--cursor', given!]);
  assert.notEqual(changed.code, 0);
  assert.match(changed.err, /cursor/);
});
