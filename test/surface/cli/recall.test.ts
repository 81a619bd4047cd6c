import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { temporaryFolder } from '../../support/daemon-process.js';
import { commandsIn } from './cli-process.js';

const cli = commandsIn(temporaryFolder('cli-recall'));
type Row = Record<string, unknown>;
const json = async (...args: string[]) => {
  const { code, out, err } = await cli(...args, '--json');
  assert.equal(code, 0, err);
  return JSON.parse(out) as Row;
};

before(async () => {
  await cli(
    'store',
    '--title',
    'ferry one',
    '--content',
    'noon',
    '--confidence',
    '0.96',
    '--kind',
    'decision',
  );
  await cli('store', '--title', 'ferry two', '--content', 'noon', '--confidence', '0.8');
  await cli('store', '--title', 'ferry three', '--content', 'noon', '--confidence', '0.2');
});

describe('the recall command', () => {
  it('knows the confidence tiers by both of their names', async () => {
    for (const [word, same, title] of [
      ['high', 'confirmed', 'ferry one'],
      ['medium', 'likely', 'ferry two'],
      ['low', 'ambiguous', 'ferry three'],
    ] as const) {
      for (const tier of [word, same]) {
        const { memories } = await json('recall', 'ferry', '--confidence-tier', tier);
        assert.deepEqual(
          (memories as Row[]).map((row) => row['title']),
          [title],
          tier,
        );
      }
    }
    const wrong = await cli('recall', 'ferry', '--confidence-tier', 'sure');
    assert.equal(wrong.code, 2);
  });

  it('takes the flags of the table', async () => {
    const flags = [
      ...[
        '-n',
        'global',
        '--limit',
        '5',
        '--since',
        '2020-01-01T00:00:00Z',
        '--until',
        '2099-01-01T00:00:00Z',
      ],
      ...[
        '--as-agent',
        'team',
        '--budget-tokens',
        '100',
        '--context-tokens',
        'sea,boat',
        '--session-default',
      ],
      ...['--include-archived', '--session-id', 's', '--kind', 'decision,claim', '--verbose-provenance'],
    ];
    const { memories, meta } = await json('recall', 'ferry', ...flags);
    assert.deepEqual(
      (memories as Row[]).map((row) => row['title']),
      ['ferry one'],
    );
    assert.equal((memories as Row[])[0]!['confidence_tier'], 'confirmed');
    assert.equal((meta as Row)['budget_overflow'], false);
    const filtered = await json(
      'recall',
      'ferry',
      '--has-citations',
      '--source-uri-prefix',
      'doc:',
      '--tags',
      'x',
    );
    assert.equal(filtered['count'], 0);
  });

  it('prints for people, as JSON or as TOON', async () => {
    const human = await cli('recall', 'ferry');
    assert.match(human.out, /SCORE/);
    assert.equal(
      (await cli('recall', 'ferry', '--format', 'human')).out.split('\n')[0],
      human.out.split('\n')[0],
    );
    assert.ok(JSON.parse((await cli('recall', 'ferry', '--format', 'json')).out));
    for (const command of [['recall', 'ferry'], ['search', 'ferry'], ['list']]) {
      const toon = await cli(...command, '--format', 'toon');
      assert.match(toon.out, /^count:3/, command[0]);
      assert.equal((await cli(...command, '--format', 'yaml')).code, 2);
      const both = await cli(...command, '--format', 'toon', '--json');
      assert.match(both.err, /contradict/);
    }
  });

  it('leaves observations that another command lists', async () => {
    const { recall_id: id, count } = await json('recall', 'ferry');
    const { observations } = await json('recall-observations', '--recall-id', String(id));
    assert.equal((observations as Row[]).length, count);
    assert.deepEqual(
      (observations as Row[]).map((row) => row['rank']),
      [1, 2, 3],
    );
    assert.equal((await json('recall-observations', '--unconsumed', '--limit', '2'))['count'], 2);
    assert.equal((await json('recall-observations', '--consumed'))['count'], 0);
    assert.equal((await cli('recall-observations', '--consumed', '--unconsumed')).code, 2);
    const people = await cli('recall-observations');
    assert.equal(people.code, 0);
  });
});
