import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { adviceOn } from '../../console/src/lib/advice.js';
import { copyText, standingText } from '../../console/src/lib/erasures.js';
import {
  agoText,
  bytesText,
  fieldTimeOf,
  instantOf,
  valueText,
  wordsOf,
} from '../../console/src/lib/format.js';
import { importParts } from '../../console/src/lib/import-parts.js';
import { inTurns } from '../../console/src/lib/in-turns.js';
import { linkHolds, momentsOf } from '../../console/src/lib/link-times.js';
import { memoryRow, validityText } from '../../console/src/lib/memory-rows.js';
import { type MeshStatus, nodeName, nodesOf } from '../../console/src/lib/mesh-status.js';
import { gaugesOf, linePoints, samplesOf } from '../../console/src/lib/metrics.js';
import { changesOf } from '../../console/src/lib/pending-changes.js';
import { gateText, policyIn, readText, ruleHoldsIn, whyItWaits } from '../../console/src/lib/policies.js';
import { stateText, stepText, usedPercent } from '../../console/src/lib/room.js';
import { addressOf, placeOf } from '../../console/src/lib/route.js';
import { rowWindow } from '../../console/src/lib/row-window.js';
import { halvesOf, joined } from '../../console/src/lib/sealed.js';
import { modeText, secretsOf } from '../../console/src/lib/secrets.js';
import { lineDiff } from '../../console/src/lib/text-diff.js';
import { whereText, withItem } from '../../console/src/lib/tokens.js';

describe('addresses of the console', () => {
  it('lead back to the place that they were made of, whatever its subject and its query', () => {
    const text = fc.string({ minLength: 1, unit: 'grapheme' });
    const view = fc.constantFrom('memories', 'approvals', 'mesh');
    fc.assert(
      fc.property(view, fc.option(text), fc.dictionary(text, text), (name, subject, query) => {
        const { pathname, search } = new URL(addressOf(name, subject, query), 'http://node.invalid');
        const escapes = subject !== null && /^\.{1,2}$/.test(subject);
        if (!escapes)
          assert.deepEqual(placeOf(pathname, search), { view: name, subject, query: { ...query } });
      }),
    );
  });

  it('of what the console does not have lead to the first view', () => {
    for (const path of ['/console', '/console/', '/console/a/b/c'])
      assert.deepEqual(placeOf(path, ''), { view: 'memories', subject: null, query: {} });
    assert.equal(placeOf('/console/memories/%zz', '').subject, '%zz');
  });

  it('leave empty values out', () => {
    assert.equal(
      addressOf('memories', null, { q: '', tag: null, tier: 'mid' }),
      '/console/memories?tier=mid',
    );
  });
});

describe('the rows of a long list', () => {
  it('that are drawn are few, cover what shows, and are rows of the list', () => {
    const cases = fc.record({
      count: fc.nat(1_000_000),
      scrollTop: fc.integer({ min: -100, max: 70_000_000 }),
      height: fc.integer({ min: 0, max: 4000 }),
    });
    fc.assert(
      fc.property(cases, ({ count, scrollTop, height }) => {
        const { first, end, offset } = rowWindow(count, 64, { scrollTop, height });
        assert.ok(0 <= first && first <= end && end <= count);
        assert.ok(end - first <= height / 64 + 20);
        assert.equal(offset, first * 64);
        const shown = Math.floor((scrollTop + height / 2) / 64);
        if (scrollTop >= 0 && height > 0 && shown < count) assert.ok(first <= shown && shown < end);
      }),
    );
    assert.equal(rowWindow(100_000, 64, { scrollTop: 0, height: 640 }).height, 6_400_000);
  });
});

describe('the lines of two texts', () => {
  it('make each of them again', () => {
    const text = fc
      .array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 12 })
      .map((lines) => lines.join('\n'));
    fc.assert(
      fc.property(text, text, (before, after) => {
        const lines = lineDiff(before, after);
        const of = (...kinds: string[]) =>
          lines.filter(({ kind }) => kinds.includes(kind)).map((line) => line.text);
        assert.equal(of('same', 'gone').join('\n'), before);
        assert.equal(of('same', 'new').join('\n'), after);
        if (before === after) assert.ok(lines.every(({ kind }) => kind === 'same'));
      }),
    );
  });

  it('keep what both have', () => {
    assert.deepEqual(
      lineDiff('a\nb\nc', 'a\nx\nc').map(({ kind, text }) => `${kind} ${text}`),
      ['same a', 'gone b', 'new x', 'same c'],
    );
  });
});

describe('what the console shows', () => {
  it('says how long ago something was, in its largest unit', () => {
    const now = Date.parse('2026-01-02T00:00:00Z');
    assert.equal(agoText('2026-01-01T23:58:00Z', now), '2 min ago');
    assert.equal(agoText('2026-01-05T00:00:00Z', now), 'in 3 d');
    assert.equal(agoText('never', now), '–');
  });

  it('reads fields as they were meant', () => {
    assert.deepEqual(wordsOf(' a, b  c,,'), ['a', 'b', 'c']);
    assert.equal(instantOf(''), null);
    assert.equal(instantOf('no date'), null);
    assert.equal(instantOf('2026-01-01T00:00Z'), '2026-01-01T00:00:00.000Z');
    assert.equal(instantOf(fieldTimeOf('2026-01-01T10:20:00Z')), '2026-01-01T10:20:00.000Z');
    assert.deepEqual([fieldTimeOf(undefined), fieldTimeOf('soon')], ['', '']);
    assert.equal(valueText({ a: '<b>' }), '{"a":"<b>"}');
    assert.equal(bytesText(1_500_000), '1.5 MB');
  });

  it('cuts long texts of rows, and names the writer only where it is a text', () => {
    const memory = { id: '1', title: 't', namespace: 'n', tier: 'mid', content: 'x'.repeat(1000) };
    assert.equal(memoryRow(memory).passage.length, 201);
    assert.equal(memoryRow({ ...memory, metadata: { agent_id: { toString: 'x' } } }).agent, '');
  });

  it('says on how many nodes a memory is gone', () => {
    const said = (done: number, missing: number) =>
      standingText({ done: Array(done).fill('a'), missing: Array(missing).fill('b') });
    assert.equal(said(1, 0), 'gone on the only node');
    assert.equal(said(3, 0), 'gone on all 3 nodes');
    assert.equal(said(1, 2), 'gone on 1 of 3 nodes');
    assert.equal(copyText('backup'), 'Backup');
    assert.equal(copyText('of a later release'), 'of a later release');
  });

  it('says what tokens, secrets, room and rules about reads mean', () => {
    assert.deepEqual([['**'], ['a', 'b/**'], []].map(whereText), ['all namespaces', 'a, b/**', 'nowhere']);
    assert.deepEqual(withItem(['a', 'b', 'c'], ['c'], 'a', true), ['a', 'c']);
    assert.deepEqual(withItem(['a', 'b', 'c'], ['a', 'c'], 'a', false), ['c']);
    const metrics = [
      'svc_secrets_found_total{kind="npm-token",outcome="kept"} 1',
      'svc_secrets_found_total{kind="github-token",outcome="redacted"} 3',
      'svc_other_total{kind="x",outcome="y"} 9',
    ];
    assert.deepEqual(secretsOf(metrics.join('\n')), [
      { kind: 'github-token', outcome: 'redacted', count: 3 },
      { kind: 'npm-token', outcome: 'kept', count: 1 },
    ]);
    assert.equal(modeText('later'), 'later');
    assert.deepEqual(
      [usedPercent(1, null), usedPercent(null, 4), usedPercent(1, 4), usedPercent(9, 4)],
      [...[null, null, 25, 100]],
    );
    assert.deepEqual(stateText('of a later release'), ['of a later release', '']);
    assert.equal(stepText('later'), 'later');
    assert.equal(readText({ surface: 'export', namespace: 'hr/**' }), 'export of hr/**');
    assert.equal(readText({ query_substring: 'pay', later: 1 }), 'reads that ask for “pay” {"later":1}');
    assert.equal(readText({ all: true }), 'all reads');
    assert.deepEqual(
      [
        validityText({ validity: 'ended' }, ''),
        validityText({ validity: 'ended' }, '2022'),
        validityText({ validity: '' }, 'x'),
      ],
      ['has ended', 'has ended since', ''],
    );
  });

  it('has advice for each error, and its own for those of a key, an admin and a changed memory', () => {
    const codes = ['UNAUTHORIZED', 'ADMIN_REQUIRED', 'CONFLICT', 'APPROVAL_PENDING'];
    assert.equal(new Set([...codes, 'SOMETHING_NEW'].map(adviceOn)).size, codes.length + 1);
  });
});

describe('a waiting action', () => {
  it('shows what it would change of a memory, and nothing that stays', () => {
    const memory = { title: 'old', tier: 'mid', content: 'one', tags: ['a'] };
    const { rows, before, after } = changesOf(memory, {
      id: '1',
      ...{ title: 'old', tags: ['a', 'b'] },
      becomes: { title: 'old', tier: 'long', content: 'two' },
    });
    assert.deepEqual(rows, [
      { name: 'tier', before: 'mid', after: 'long' },
      { name: 'tags', before: '["a"]', after: '["a","b"]' },
    ]);
    assert.deepEqual([before, after], ['one', 'two']);
    assert.deepEqual(changesOf(null, { content: 'new' }), { rows: [], before: null, after: 'new' });
  });
});

describe('who may do what in a namespace', () => {
  it('is said by the nearest policy that says it, and by the service where none does', () => {
    const levels = [
      { namespace: '*', governance: { write: 'any', delete: 'any', approver: 'human' } },
      { namespace: 'team', governance: { write: 'approve', approver: { consensus: 2 } } },
      { namespace: 'team/a', governance: null },
    ];
    const said = (chain: typeof levels) =>
      policyIn(chain as never).map(
        ({ member, value, from }) => `${member}: ${gateText(member, value)}, ${from}`,
      );
    assert.deepEqual(said(levels), [
      'write: everybody, after an approval, team',
      'promote: every agent that sees the memory, null',
      'delete: every agent that sees the memory, *',
      'read: every agent that sees the memory, null',
      'approver: 2 agents together, team',
    ]);
    const cut = [levels[0]!, { namespace: 'team', governance: { write: 'owner', inherit: false } }];
    assert.deepEqual(
      policyIn(cut).find(({ member }) => member === 'delete'),
      {
        ...{ member: 'delete', value: 'owner', from: null },
      },
    );
  });
});

describe('a link on two axes of time', () => {
  const day = (n: number) => `2026-01-0${n}T00:00:00.000Z`;
  const link = {
    source_id: 'a',
    target_id: 'b',
    relation: 'related_to',
    created_at: day(2),
    valid_from: day(1),
  };

  it('holds from when it is valid, once it is known', () => {
    assert.ok(linkHolds(link, day(1), day(2)));
    assert.ok(!linkHolds(link, day(1), day(1)), 'nobody knew it yet');
    assert.ok(linkHolds(link, day(9), day(9)));
  });

  it('was believed to hold until its end became known', () => {
    const ended = { ...link, valid_until: day(3), retired_at: day(5), believed_until: null };
    assert.ok(linkHolds(ended, day(4), day(4)));
    assert.ok(!linkHolds(ended, day(4), day(5)));
    assert.ok(linkHolds(ended, day(2), day(5)));
  });

  it('holds in an earlier period too, and each change is a moment', () => {
    const period = { created_at: day(1), valid_from: day(1), valid_until: day(2), believed_from: day(1) };
    const again = { ...link, created_at: day(5), valid_from: day(5), earlier: [period] };
    assert.ok(linkHolds(again, day(1), day(6)));
    assert.ok(!linkHolds(again, day(3), day(6)));
    assert.deepEqual(momentsOf([again, link]), [day(1), day(2), day(5)]);
  });
});

describe('metrics', () => {
  it('are read from the text, gauges as sums over their labels', () => {
    const text = '# TYPE a gauge\na{x="1"} 2\na{x="2"} 3\n# TYPE b counter\nb 7\nc NaN\nnothing';
    assert.equal(samplesOf(text).length, 3);
    assert.deepEqual([...gaugesOf(text)], [['a', 5]]);
    assert.equal(linePoints([0, 1], 10, 10), '0.0,10.0 10.0,0.0');
    assert.equal(linePoints([5], 10, 10), '0.0,0.0');
  });
});

describe('rules and waiting actions of a namespace', () => {
  it('are those of the namespace, of those above it, and of all', () => {
    const holds = ['_global', 'team', 'team/a', 'team/ab', 'other'].filter((of) => ruleHoldsIn(of, 'team/a'));
    assert.deepEqual(holds, ['_global', 'team', 'team/a']);
  });

  it('wait because of the policy that says so', () => {
    const levels = [{ namespace: 'team', governance: { write: 'approve', delete: 'owner' } }];
    assert.match(whyItWaits('store', levels), /policy of team asks for an approval of each write/);
    assert.match(whyItWaits('delete', levels), /a rule of the node/);
  });
});

describe('an import', () => {
  it('is sent in parts that hold each row once, and memories before what names them', () => {
    const row = fc.record(
      { id: fc.uuid(), content: fc.string({ maxLength: 50 }) },
      { noNullPrototype: true },
    );
    const rows = fc.array(row, { maxLength: 1200 });
    fc.assert(
      fc.property(rows, rows, (memories, links) => {
        const parts = importParts(JSON.stringify({ memories, links }))!;
        assert.deepEqual(
          parts.flatMap((part) => part.memories),
          memories,
        );
        assert.deepEqual(
          parts.flatMap((part) => part.links ?? []),
          links,
        );
        for (const part of parts)
          assert.ok(part.memories.length <= 1000 && JSON.stringify(part).length < 700_000);
        const first = parts.findIndex((part) => part.links !== undefined);
        if (first !== -1) assert.ok(parts.slice(first).every((part) => part.memories.length === 0));
      }),
      { numRuns: 20 },
    );
    const long = { content: 'x'.repeat(400_000) };
    assert.equal(importParts(JSON.stringify({ memories: [long, long, long] }))!.length, 3);
  });

  it('of a file that is no export is refused', () => {
    for (const text of ['', 'no JSON', '[]', 'null', '{"links":[]}']) assert.equal(importParts(text), null);
  });

  it('asks for a few things at a time', async () => {
    let [running, most] = [0, 0];
    const doubled = await inTurns([...Array(30).keys()], async (n) => {
      running += 1;
      most = Math.max(most, running);
      await Promise.resolve();
      running -= 1;
      return n * 2;
    });
    assert.deepEqual(
      doubled,
      [...Array(30).keys()].map((n) => n * 2),
    );
    assert.ok(most > 1 && most <= 8, String(most));
  });
});

describe('the nodes of a mesh', () => {
  const peer = (peer_id: string, name: string | null) => ({
    ...{ peer_id, name, url: 'https://127.0.0.1:1', state: 'member', reachable: true },
    ...{ last_contact: '2026-01-01T00:00:00Z', skew_ms: 3, problem: null },
  });
  const news = (peerId: string, lagOperations: number) => ({
    ...{
      peerId,
      url: null,
      state: 'healthy',
      acked: 7,
      lagOperations,
      lagSeconds: 2.4,
      skewMs: 3,
      lastError: null,
    },
    ...{ quarantined: false, dlq: 1, parked: 2, rows: 'behind', diverged: false, differing: [] },
    ...{ version: '1.2.3', lastAnswerAt: '2026-01-01T00:00:00Z' },
  });
  const status: MeshStatus = {
    ...{
      peer_id: 'p0',
      name: 'one',
      mesh_id: 'm',
      url: null,
      listening: true,
      problem: null,
      state: 'member',
    },
    ...{ certificate_expires: null, peers: [peer('p1', 'two'), peer('p2', null)], wired: [] },
    compared: [
      { peer_id: 'p1', equal: true, differing: [], problem: null },
      { peer_id: 'p2', equal: false, differing: ['team'], problem: null },
    ],
    replication: {
      ...{ origin: 'p0/1', originSeq: 9, accepting: true, underReplicated: 0, dlqDepth: 0, diverged: 0 },
      ...{ quorum: { configured: 2, needed: 2, members: 3 }, quarantined: 0 },
      peers: [news('p1', 0), news('p2', 3), news('p3', 1)],
    },
  };

  it('are one row each, with those that were enrolled by hand', () => {
    assert.deepEqual(
      nodesOf(status, '1.2.3').map(({ name, version, lag, memories, deadLetters }) =>
        [name, version, lag, memories, deadLetters].join(' | '),
      ),
      [
        'one | 1.2.3 | none | its own | ',
        'two | 1.2.3 | none | equal | 3',
        'p2 | 1.2.3 | 3 operations, 2 s | differ in team | 3',
        'p3 | 1.2.3 | 1 operation, 2 s | behind | 3',
      ],
    );
  });

  it('have a name, or their id', () => {
    assert.deepEqual(
      ['p0', 'p1', 'p2', null].map((id) => nodeName(status, id)),
      ['one (this node)', 'two', 'p2', 'an unknown node'],
    );
    assert.equal(nodeName(null, 'p1'), 'p1');
  });
});

describe('the two halves of a key', () => {
  it('make it again, and neither alone says what it is', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', minLength: 8 }),
        fc.uint8Array({ minLength: 400, maxLength: 400 }),
        (key, random) => {
          const halves = halvesOf(key, (bytes) => bytes.map((_, index) => random[index % 400]!));
          assert.equal(joined(halves), key);
          assert.equal(halves.pad, Buffer.from(random).toString('hex').repeat(9).slice(0, halves.pad.length));
          assert.equal(joined({ ...halves, pad: halves.pad.slice(2) }), null);
        },
      ),
    );
    assert.equal(joined({ sealed: 'zz', pad: '00' }), null);
  });
});
