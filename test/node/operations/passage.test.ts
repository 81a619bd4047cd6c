import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Passages } from '../../../node/operations/core/passage.js';
import { estimatedTokens } from '../../../node/semantics/estimated-tokens.js';
import fc from '../../support/properties.js';

const FILLER = 'Nothing of interest is said in this sentence about other matters. ';
const passage = (query: string, content: string, tokens = 60): string =>
  new Passages(query).of([content], [tokens])[0]!.text;

/** What a passage shows, and how many characters it leaves out. */
function read(text: string) {
  const [, shown, left] = /^([\s\S]*)\[\+(\d+)\]$/.exec(text)!;
  return { shown: shown!, left: Number(left) };
}

describe('the passage of a text', () => {
  it('is the whole text as it was written when there is room for it', () => {
    const content = 'if (ready) {\r\n    deploy(  now );  \n\n}\t\n';
    assert.deepEqual(new Passages('deploy').of([content], [estimatedTokens(content)]), [
      { text: content, whole: true },
    ]);
  });

  it('is around the words of the query, in any form, from the beginning of their sentence', () => {
    const content = `${FILLER.repeat(20)}Deployments leave the harbour on Sundays at two. ${FILLER.repeat(20)}`;
    const { shown } = read(passage('when does a deployment leave the harbour?', content));
    assert.match(shown, /(^|[.…] ?)Deployments leave the harbour on Sundays at two\./);
    assert.ok(shown.startsWith('…') && shown.endsWith('…') && shown.length <= 250, shown);
  });

  it('is where most of the query stands together, and rare words count more', () => {
    const apart = `ferry ferry ferry. ${FILLER.repeat(10)} The ferry sails at noon from the pier. ${FILLER.repeat(10)}`;
    assert.match(passage('ferry noon pier', apart), /The ferry sails at noon from the pier/);
    const lines = Array.from({ length: 60 }, (_, n) => `Caroline: the train of day ${n} was late again`);
    lines[41] = 'Caroline: I adopted a beagle at last';
    assert.match(passage('which dog, a beagle, does Caroline have?', lines.join('\n')), /a beagle at last/);
  });

  it('has parts from several places in their order, and marks what is left out between them', () => {
    const line = (text: string) => `${text}\n${'nobody says anything of note here today\n'.repeat(40)}`;
    const content = `${line('The zeppelin left Lisbon.')}${line('The zeppelin met a storm.')}${line('The end.')}`;
    const { shown, left } = read(passage('what did the zeppelin do?', content, 90));
    assert.match(shown, /^The zeppelin left Lisbon\.\n[\s\S]*\n…[\s\S]*The zeppelin met a storm\.[\s\S]*…$/);
    const kept = shown.replaceAll(/\n…|…$/g, '').length;
    assert.equal(kept + left, content.length);
  });

  it('joins what it takes out of one line on that line', () => {
    const content = `The ferry waits. ${FILLER.repeat(30)}The ferry leaves. ${FILLER.repeat(30)}`;
    const { shown } = read(passage('ferry', content, 90));
    assert.match(shown, /^The ferry waits\.[\s\S]* …[\s\S]*The ferry leaves\./);
    assert.doesNotMatch(shown, /\n/);
  });

  it('brings the lines that a part stands under', () => {
    const notes = Array.from(
      { length: 30 },
      (_, n) =>
        `## Region ${n}\n\nThese things hold there:\n\n- the tariff is ${n}\n- ports are open on day ${n}\n`,
    );
    notes[17] = notes[17]!.replace('ports are open', 'zeppelins may land');
    const { shown } = read(passage('where may zeppelins land?', notes.join('\n')));
    assert.match(
      shown,
      /^…## Region 17\n[\s\S]*These things hold there:\n[\s\S]*- zeppelins may land on day 17/,
    );
    const code = `${'let padding = 0;\n'.repeat(60)}if (zeppelin) {\n${'  wait();\n'.repeat(30)}  land();\n}\n`;
    assert.match(read(passage('land()', code, 40)).shown, /^…if \(zeppelin\) \{\n[\s\S]*…? {2}land\(\);/);
    const rows = Array.from({ length: 90 }, (_, n) => `| town ${n} | ${n} boats |`);
    rows[70] = '| Esbjerg | 70 boats |';
    const table = `| town | fleet |\n|---|---|\n${rows.join('\n')}`;
    assert.match(
      read(passage('Esbjerg', table, 40)).shown,
      /^\| town \| fleet \|\n[\s\S]*\| Esbjerg \| 70 boats \|/,
    );
  });

  it('takes the lines of a wrapped paragraph together', () => {
    const wrapped =
      'The harbour of the northern town is closed in winter, because\nthe zeppelin that breaks the ice for the\nferries is away then.';
    const content = `${`${FILLER}\n`.repeat(30)}${wrapped}\n\n${`${FILLER}\n`.repeat(30)}`;
    assert.ok(passage('zeppelin', content, 50).includes(wrapped));
  });

  it('is the beginning when no word of the query stands in the text', () => {
    for (const query of ['zebra', 'the', '?']) {
      const text = passage(query, `First words. ${FILLER.repeat(20)}`);
      assert.ok(text.startsWith('First words. Nothing of interest'), text);
      assert.match(text, /matters\.…\[\+\d+\]$/);
    }
  });

  it('finds words with accents, and places after letters that fold to several', () => {
    const content = `${'ßæ ﬁ İstanbul ẞ. '.repeat(60)}Zażółć gęślą jaźń. ${'İİİ ŒŒ. '.repeat(60)}`;
    assert.match(passage('zazolc gesla', content, 40), /Zażółć gęślą jaźń/);
    assert.match(passage('gęślą', content, 40), /Zażółć gęślą jaźń/);
    const decomposed = `${'e\u0301tude '.repeat(300)}cafe\u0301. ${'e\u0301tude '.repeat(300)}`;
    assert.match(passage('café', decomposed, 40), /cafe\u0301/);
  });

  it('has as many tokens in a script without spaces, and keeps characters whole', () => {
    const content = `${'これは関係のない文章です。'.repeat(30)}会議は月曜日の午前十時に始まります。${'別の話です。'.repeat(30)}`;
    const { shown } = read(passage('会議は何曜日ですか', content));
    assert.match(shown, /会議は月曜日の午前十時に始まります。/);
    assert.ok(estimatedTokens(shown) <= 70 && estimatedTokens(shown) > 30, shown);
    assert.ok(passage('x', '😀'.repeat(400)).isWellFormed());
  });

  it('is a stretch around the word where one part is longer than its room', () => {
    const content = `${'padding '.repeat(40)}zeppelin ${'padding '.repeat(400)}`;
    assert.match(passage('zeppelin', content, 40), /^….*zeppelin.*…\[\+\d+\]$/);
    assert.ok(passage('needle', `${'x'.repeat(5000)} needle ${'x'.repeat(5000)}`, 40).length < 250);
  });

  it('holds what it says of any text, and counts what it leaves out', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        '# Head\n',
        '- ',
        '| a | b |\n',
        '\n',
        '\r\n',
        '  ',
        '. ',
        '。',
        '…',
        '[+3]',
        'ferry ',
        'ß',
        '😀',
      ),
      fc.string({ unit: 'grapheme', maxLength: 60 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 120 }), fc.integer({ min: 0, max: 90 }), (pieces, tokens) => {
        const content = pieces.join('');
        const [shown] = new Passages('ferry head').of([content], [tokens]);
        if (shown!.whole) {
          assert.equal(shown!.text, content);
          return;
        }
        const { shown: text, left } = read(shown!.text);
        assert.ok(left > 0 && left <= content.length);
        assert.ok(text.length <= content.length * 2 + 2);
      }),
    );
  });
});

describe('the passages of several texts', () => {
  it('weigh a word by how rare it is in all of them', () => {
    const common = `${'The ferry is late. '.repeat(40)}\nThe pier is new.\n${'The ferry is late. '.repeat(40)}`;
    const texts = [common, common.replaceAll('pier', 'ferry')];
    const [first] = new Passages('ferry pier').of(texts, [30, 30]);
    assert.match(first!.text, /The pier is new/);
  });

  it('take time that grows with the texts, whatever is in them', () => {
    const words = Array.from({ length: 64 }, (_, n) => `w${n}x`).join(' ');
    const length = 400_000;
    const filled = (piece: string) => piece.repeat(Math.ceil(length / piece.length));
    const texts = [
      ...[`a\n${filled(' ')}b`, `a${filled('\n \n')}`, filled('a\n'), filled(`${words} `), filled('."')],
      ...[
        filled('# '),
        filled('x'),
        filled('会議'),
        filled('İ'),
        filled('\r'),
        filled('| '),
        filled('1. \n'),
      ],
    ];
    const passages = new Passages(`${words} 会議は何曜日`);
    const started = performance.now();
    const all = passages.of(
      texts,
      texts.map(() => 100),
    );
    // A few seconds; the square of the length would take many minutes.
    assert.ok(performance.now() - started < 60_000);
    for (const { text } of all) assert.ok(text.length < 1000 && text.isWellFormed());
  });
});

describe('the closeness of words', () => {
  it('is the share of them that stand together', () => {
    const passages = new Passages('ferry noon');
    assert.equal(passages.closeness('The ferry at noon', 'x'), 1);
    assert.equal(passages.closeness('x', `The ferry. ${FILLER.repeat(20)} At noon.`), 0.5);
    assert.equal(passages.closeness('x', 'y'), 0);
    assert.equal(new Passages('the').closeness('the', 'the'), 0);
  });
});
