import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { titleOfText } from '../../../node/operations/core/title-of-text.js';
import { title as titleField } from '../../../node/pipeline/fields.js';
import fc from '../../support/properties.js';

const LONG =
  'When the primary of the billing database fails, promote the replica in Dublin first and only then tell the desk.';

describe('the title of a text without one', () => {
  const cases: readonly (readonly [text: string, title: string])[] = [
    ['Ann likes tea.', 'Ann likes tea'],
    ['Really? Yes, and always on Mondays', 'Really? Yes, and always on Mondays'],
    ['The build needs Node 20.19. Older ones end at once.', 'The build needs Node 20.19'],
    ['first\nsecond', 'first'],
    ['\n\n## Deploy window\n\nSundays', 'Deploy window'],
    ['- [ ] buy milk', 'buy milk'],
    ['---\n\ntext', 'text'],
    ['a\tb\u0007  c', 'a b c'],
    [LONG, 'When the primary of the billing database fails, promote the replica in…'],
    ['x'.repeat(100), `${'x'.repeat(72)}…`],
    [
      '\u6771\u4eac\u306b\u4f4f\u3093\u3067\u3044\u307e\u3059\u3002\u305d\u308c\u304b\u3089\u3002',
      '\u6771\u4eac\u306b\u4f4f\u3093\u3067\u3044\u307e\u3059\u3002',
    ],
    ['\u{1f469}\u200d\u{1f52c}'.repeat(80), `${'\u{1f469}\u200d\u{1f52c}'.repeat(72)}…`],
    ['???', '???'],
    [' \n\t ', 'Untitled'],
    ['', 'Untitled'],
  ];
  for (const [text, title] of cases) {
    it(JSON.stringify(text.slice(0, 40)), () => assert.equal(titleOfText(text), title));
  }

  it('is one that a memory can have, whatever the text is', () => {
    const pieces = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.constantFrom(' ', '\n', '. A', '\u0300'.repeat(200), '\ud800', '\u200b', '# ', '\u2028', '\u202e'),
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 60 }), (parts) => {
        const text = parts.join('');
        const title = titleOfText(text);
        const read = titleField.safeParse(title);
        assert.ok(read.success, JSON.stringify([text, title]));
      }),
    );
  });
});
