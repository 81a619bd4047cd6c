import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { temporaryFolder } from '../support/daemon-process.js';
import { PageRun } from '../support/page-run.js';
import { withoutServer } from '../support/postgres-server.js';
import { startTlsServer } from '../support/tls-server.js';

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
  'delegation.md': [
    ['token mint', /^(?![\s\S]*salary of)[\s\S]*We deploy on Sundays/],
    ['token verify', /operations: read\nnamespaces: team\/ops\n/],
    ['token revoke --token', /revoked: [\s\S]*TOKEN_REVOKED/],
  ],
  'three-nodes.md': [
    ['mesh verify', /Deploy window[\s\S]*two \(peer-[\s\S]*All 3 nodes are equal/],
    ['mesh conflicts', /no edit lost/],
    ['mesh remove', /three \(peer-\w+\) +departed/],
  ],
  'secrets.md': [
    ['recall "deploy job"', /\[redacted:github-token\]/],
    ['SVC_SECRETS=refuse', /content holds a secret \(github-token\)[\s\S]*exit code 1/],
  ],
  'room.md': [
    ['mnemesh room\n', /enough/],
    ['room --json', /"max_bytes": ?500000000[\s\S]*"used_bytes"/],
  ],
  'scale.md': [['recall "when', /equal[\s\S]*Deploy window[\s\S]*No memories/i]],
  'facts.md': [
    ['recall "where', /Office since 2024[\s\S]*\(ended\)[\s\S]*Office until 2024 \(ended\)[\s\S]*until 2024/],
    ['history', /VERSION[\s\S]*FIELD[\s\S]*Sundays[\s\S]*undone/],
    ['--known-at', /no memories[\s\S]*Office until 2024/],
  ],
  'erasure.md': [
    ['delete "$id" --erase', /erased: /],
    ['forget --namespace people --erase --yes', /erased: 1[\s\S]*gone on 1 of 1 nodes/],
  ],
  'recalls.md': [
    [
      'mnemesh recalls\n',
      /WHEN +QUERY[\s\S]*when may we deploy\?[\s\S]*who feeds the cat\?[\s\S]*used share +\d/,
    ],
    ['--outcome none', /RANK +SCORE +TITLE[\s\S]*read/],
  ],
  'backup-and-upgrade.md': [
    ['backup --to ./backups', /backups/],
    ['restore --from', /restored/],
  ],
};

/** What the reader has done before: a page about backups needs something to back up. */
const BEFORE = 'mnemesh store --title "Before the page" --content "A note of the reader."';

/** What pages about a server must have printed. */
const ON_SERVER: Expected = [
  ['schema-init', /schema version +55/],
  ['mnemesh doctor', /TLSv1/],
  ['mnemesh migrate', /The copy is the same node/],
  ['recall?q=deploy', /We deploy on Sundays/],
];

describe('the page about a server', { timeout: 300_000, skip: withoutServer }, () => {
  it('postgres.md', async () => {
    const { server, ca } = await startTlsServer();
    const own = { 'db.example:5432': new URL(server.base).host, 'ca.pem': ca };
    const page = new PageRun('postgres.md', temporaryFolder('page'), own);
    try {
      await page.type(BEFORE);
      page.assertShort();
      await expectPrinted(page, ON_SERVER);
    } finally {
      await page.end();
      await server.stop();
    }
  });
});

async function expectPrinted(page: PageRun, expected: Expected): Promise<void> {
  const open = new Set(expected);
  await page.all((block, out) => {
    for (const each of open) {
      const [part, printed] = each;
      if (!block.includes(part)) continue;
      assert.match(out, printed, block);
      open.delete(each);
    }
  });
  assert.deepEqual([...open], [], 'the page has what is expected of it');
}

describe('a page of docs/ about one task', { timeout: 300_000 }, () => {
  for (const [name, expected] of Object.entries(PAGES)) {
    it(name, async () => {
      const page = new PageRun(name, temporaryFolder('page'));
      await page.type(BEFORE);
      page.assertShort();
      try {
        await expectPrinted(page, expected);
      } finally {
        await page.end();
      }
    });
  }
});
