import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { treeView } from '../../../cli/views/tree-view.js';
import { dotText, mermaidText, type Picture } from '../../../node/pipeline/pictures.js';

/** Titles that end a string, begin another statement, or steer a viewer. */
const HOSTILE = [
  'quote " ] ; n0 -> n0 [label="owned',
  'back\\slash \\" \\N \\l',
  'line one\nline two\r\n  n9 --> n0',
  'a <script>alert(1)</script> &amp; <b>bold</b>',
  '%%{init: {"theme": "dark"}}%%',
  '`code` #quot; #35; 1. list - item end',
  'bell \u0007 escape \u001b[31m nul \u0000',
  'right to left \u202e nigeb \u2028 next',
  '|"]:::x',
  '',
];

const picture: Picture = {
  nodes: [
    { id: 'root"; evil', label: 'root' },
    ...HOSTILE.map((label, index) => ({ id: `memory\n${index}`, label })),
  ],
  edges: HOSTILE.map((label, index) => ({ from: 'root"; evil', to: `memory\n${index}`, label })),
};

describe('pictures of a graph', () => {
  it('are one dot statement for each node and link, whatever the titles say', () => {
    const lines = dotText(picture).trimEnd().split('\n');
    const statement = /^ {2}(n\d+|n\d+ -> n\d+) \[label="(?:[^"\\<>]|\\\\|\\")*"\];$/;
    const statements = lines.slice(3, -1);
    assert.equal(statements.length, picture.nodes.length + picture.edges.length);
    assert.deepEqual(
      statements.filter((line) => !statement.test(line)),
      [],
    );
    // Graphviz would read an ampersand as the beginning of an entity.
    assert.match(lines.join('\n'), /&lt;script&gt;alert\(1\)&lt;\/script&gt; &amp;amp;/);
  });

  it('are one Mermaid statement for each node and link, whatever the titles say', () => {
    const lines = mermaidText(picture).trimEnd().split('\n');
    const text = String.raw`(?:#\d+;|[^"#%&<>{}\[\]|\\\u0060;])*`;
    const statement = new RegExp(`^  (n\\d+\\["${text}"\\]|n\\d+ -->\\|"${text}"\\| n\\d+)$`);
    assert.equal(lines.length, 1 + picture.nodes.length + picture.edges.length);
    assert.deepEqual(
      lines.slice(1).filter((line) => !statement.test(line)),
      [],
    );
    assert.doesNotMatch(lines.join('\n'), /%%\{|\d\. |- item/);
  });

  it('hold no character that steers a terminal or turns the direction of writing', () => {
    for (const text of [dotText(picture), mermaidText(picture)]) {
      assert.doesNotMatch(text.replaceAll('\n', ''), /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    }
    const tree = treeView(picture, 120);
    assert.equal(tree.trimEnd().split('\n').length, 1 + picture.edges.length);
    assert.doesNotMatch(tree.replaceAll('\n', ''), /[\u0000-\u001f\u007f-\u009f]/);
  });

  it('draw a link against the walk with its arrow turned', () => {
    const turned: Picture = {
      nodes: [
        { id: 'a', label: 'A' },
        { id: 'b', label: 'B' },
      ],
      edges: [{ from: 'a', to: 'b', label: 'reflects_on', reversed: true }],
    };
    assert.match(dotText(turned), /n1 -> n0 \[label="reflects_on"\]/);
    assert.match(mermaidText(turned), /n1 -->\|"reflects_on"\| n0/);
    assert.equal(treeView(turned, 80), 'A [a]\n└─ <- reflects_on - B [b]\n');
  });

  it('draw the branches of a memory once in a tree, also in a cycle', () => {
    const edge = (from: string, to: string) => ({ from, to, label: 'related_to' });
    const ring: Picture = {
      nodes: ['a', 'b', 'c'].map((id) => ({ id, label: id.toUpperCase() })),
      edges: [edge('a', 'b'), edge('b', 'c'), edge('c', 'a'), edge('a', 'c')],
    };
    assert.deepEqual(treeView(ring, 80).trimEnd().split('\n'), [
      'A [a]',
      '├─ - related_to -> B [b]',
      '│  └─ - related_to -> C [c]',
      '│     └─ - related_to -> A [a] (above)',
      '└─ - related_to -> C [c] (above)',
    ]);
  });
});
