import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { temporaryFolder } from '../support/daemon-process.js';
import { PageRun } from '../support/page-run.js';

/** The pages for one task each: every command of theirs runs, in its order, as a reader types it. */

/** What a block must have printed, by words that it contains. */
type Expected = readonly (readonly [part: string, printed: RegExp])[];

const PAGES: Readonly<Record<string, Expected>> = {
  'agent-on-one-machine.md': [
    ['install claude-code', /ai:claude-code@/],
    ['recall "when', /We deploy on Sundays/],
    ['undo-edit', /undone[\s\S]*restored/],
    ['curl', /"memories"[\s\S]*doctor|memories/],
  ],
  'team-with-keys.md': [
    ['mnemesh sign', /agent_attested/],
    ["curl -s '", /API key|UNAUTHORIZED/i],
  ],
  'three-nodes.md': [
    ['mesh verify', /Deploy window[\s\S]*two \(peer-[\s\S]*All 3 nodes are equal/],
    ['mesh conflicts', /no edit lost/],
    ['mesh remove', /three \(peer-\w+\) +departed/],
  ],
  'backup-and-upgrade.md': [
    ['backup --to ./backups', /backups/],
    ['restore --from', /restored/],
  ],
};

/** What the reader has done before: a page about backups needs something to back up. */
const BEFORE = 'mnemesh store --title "Before the page" --content "A note of the reader."';

describe('a page of docs/ about one task', { timeout: 300_000 }, () => {
  for (const [name, expected] of Object.entries(PAGES)) {
    it(name, async () => {
      const page = new PageRun(name, temporaryFolder('page'));
      await page.type(BEFORE);
      page.assertShort();
      const open = new Set(expected);
      try {
        await page.all((block, out) => {
          for (const each of open) {
            const [part, printed] = each;
            if (!block.includes(part)) continue;
            assert.match(out, printed, block);
            open.delete(each);
          }
        });
      } finally {
        await page.end();
      }
      assert.deepEqual([...open], [], 'the page has what is expected of it');
    });
  }
});
