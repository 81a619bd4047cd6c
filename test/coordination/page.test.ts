import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Fields, openCoordinationNode } from './coordination-node.js';

const PAGE = fileURLToPath(new URL('../../../docs/coordination.md', import.meta.url));
const LINE = /^(?<agent>\S+) +(?<tool>\S+) (?<input>\{.*\})(?: => <(?<name>\w+)>| !! (?<code>\w+))?$/;

/** What the page calls an answer: an action by its id, a lease by its token. */
function namedIn({ action, lease }: Fields): unknown {
  return (action as Fields | undefined)?.['id'] ?? (lease as Fields | undefined)?.['fencing_token'];
}

it('the calls of docs/coordination.md answer what it says', async () => {
  const node = await openCoordinationNode();
  try {
    const [, block] = /```calls\n(.*?)```/s.exec(readFileSync(PAGE, 'utf8')) ?? assert.fail('no calls');
    const lines = block!.split('\n').filter((line) => line !== '');
    assert.ok(lines.length >= 15);
    const names = new Map<string, unknown>();
    for (const line of lines) {
      const { agent, tool, input, name, code } = LINE.exec(line)?.groups ?? assert.fail(line);
      const filled = input!.replace(/<(\w+)>/g, (_, known: string) => String(names.get(known)));
      const session = node.as(agent!);
      const fields = JSON.parse(filled) as Fields;
      if (code !== undefined) {
        assert.equal((await session.refused(tool!, fields)).code, code, line);
        continue;
      }
      const answer = namedIn(await session.run(tool!, fields));
      if (name === undefined) continue;
      assert.ok(answer !== undefined, line);
      assert.equal(answer, names.get(name) ?? answer, line);
      names.set(name, answer);
    }
  } finally {
    await node.close();
  }
});
