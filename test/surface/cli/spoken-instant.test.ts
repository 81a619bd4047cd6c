import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type CliOperation, fieldsOf, isRequired, kebab } from '../../../cli/operation-flags.js';
import { operationInput } from '../../../cli/operation-input.js';
import { spokenInstant } from '../../../cli/spoken-instant.js';
import { OPERATIONS } from '../../../node/operations/registry.js';
import { type InstantMeaning, instantMeaning } from '../../../node/pipeline/fields.js';
import { parseRfc3339Ms } from '../../../protocol/base/time.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import fc from '../../support/properties.js';
import { commandsIn } from './cli-process.js';

const NOW = Date.parse('2026-03-31T10:20:30.400Z');
const PAST: InstantMeaning = { span: 'ago', day: 'begin', dates: false };
const UNTIL: InstantMeaning = { span: 'ago', day: 'end', dates: true };
const COMING: InstantMeaning = { span: 'ahead', day: 'begin', dates: false };
const EITHER: InstantMeaning = { span: 'either', day: 'begin', dates: false };

describe('an instant in words', () => {
  const cases: readonly (readonly [text: string, meaning: InstantMeaning, instant: string | null])[] = [
    ['now', PAST, '2026-03-31T10:20:30.400Z'],
    ['today', PAST, '2026-03-31T00:00:00.000Z'],
    ['yesterday', PAST, '2026-03-30T00:00:00.000Z'],
    ['Yesterday ', UNTIL, '2026-03-30T23:59:59.999Z'],
    ['tomorrow', COMING, '2026-04-01T00:00:00.000Z'],
    ['7d', PAST, '2026-03-24T10:20:30.400Z'],
    ['7d', UNTIL, '2026-03-24T10:20:30.400Z'],
    ['7d', COMING, '2026-04-07T10:20:30.400Z'],
    ['7d', EITHER, null],
    ['7d ago', EITHER, '2026-03-24T10:20:30.400Z'],
    ['in 7d', EITHER, '2026-04-07T10:20:30.400Z'],
    ['2 weeks ago', COMING, '2026-03-17T10:20:30.400Z'],
    ['in 2 weeks', PAST, '2026-04-14T10:20:30.400Z'],
    ['an hour ago', PAST, '2026-03-31T09:20:30.400Z'],
    ['30m', PAST, '2026-03-31T09:50:30.400Z'],
    ['1mo', PAST, '2026-02-28T10:20:30.400Z'],
    ['in 1 month', EITHER, '2026-04-30T10:20:30.400Z'],
    ['13 months', PAST, '2025-02-28T10:20:30.400Z'],
    ['1y', COMING, '2027-03-31T10:20:30.400Z'],
    ['2026-03-01', PAST, '2026-03-01T00:00:00.000Z'],
    ['2026-03-01', UNTIL, '2026-03-01T23:59:59.999Z'],
    ['2026-03-01 14:05', UNTIL, '2026-03-01T14:05:00.000Z'],
    ['2026-03-01T14:05:06', PAST, '2026-03-01T14:05:06.000Z'],
    ...[
      '2026-02-29',
      '2026-13-01',
      '2026-03-01 24:30',
      '20260301',
      '9999y',
      '999999 years ago',
      'in 7d ago',
      '7 fortnights',
      '7',
      'd',
      '-7d',
      '7.5d',
      'constructor',
      'toString',
      'last week',
      '',
      ' ',
    ].map((text) => [text, PAST, null] as const),
  ];
  for (const [text, meaning, instant] of cases) {
    it(`"${text}", ${meaning.span}, ${meaning.day}`, () =>
      assert.equal(spokenInstant(text, meaning, NOW), instant));
  }

  it('is an instant of the service or nothing, whatever is typed', () => {
    const words = fc.oneof(
      fc.string({ maxLength: 12 }),
      fc.constantFrom(
        'in ',
        ' ago',
        '7',
        ' d',
        ' months',
        '2026-02-3',
        'an ',
        '0',
        '9999-12-31',
        ' 23:59',
        '999999y',
      ),
    );
    fc.assert(
      fc.property(
        fc.array(words, { maxLength: 5 }),
        fc.constantFrom(PAST, UNTIL, COMING, EITHER),
        (parts, meaning) => {
          const instant = spokenInstant(parts.join(''), meaning, NOW);
          assert.ok(instant === null || parseRfc3339Ms(instant) !== null, String(instant));
        },
      ),
    );
  });
});

describe('words for instants on the command line', () => {
  const mnemesh = commandsIn(temporaryFolder('cli-instants'));

  it('are taken by every field of a command that takes an instant', async () => {
    let fields = 0;
    for (const operation of OPERATIONS.filter((each): each is CliOperation => each.cli !== undefined)) {
      const { cli, input } = operation;
      const { out } = await mnemesh(...cli.command.split(' '), '--help');
      for (const [field, schema] of Object.entries(input.shape)) {
        const takes = (value: unknown) => (schema as typeof input).safeParse(value).success;
        // What takes an instant and refuses a day is an instant.
        const isInstant = takes('2026-11-01T14:00:00Z') && !takes('2026-11-01');
        assert.equal(instantMeaning(schema as typeof input) !== null, isInstant, `${cli.command} ${field}`);
        if (!isInstant || cli.omit?.includes(field) === true) continue;
        fields += 1;
        const flag = (cli.flags?.[field] ?? field).replaceAll('_', '-');
        const row = new RegExp(`(?:--${flag} <text>|<${flag}>) [^<]*also a date, `);
        assert.match(out.replace(/\s+/g, ' '), row);
        const others = fieldsOf(operation).filter((name) => name !== field && isRequired(operation, name));
        const typed = (text: string) => ({
          flags: new Map([...others.map((name): [string, string[]] => [kebab(name), ['x']]), [flag, [text]]]),
          ...{ positionals: [], rest: [] },
        });
        const read = await operationInput(operation, typed('tomorrow'), process.stdin);
        assert.match(String(read.ok && read.value[field]), /T00:00:00.000Z$|T23:59:59.999Z$/);
        const other = await operationInput(operation, typed('soonish'), process.stdin);
        assert.equal(other.ok && other.value[field], 'soonish', 'the schema refuses it');
      }
    }
    assert.ok(fields >= 12, `${fields} fields`);
  });

  it('choose rows, and say when a memory expires', async () => {
    await mnemesh('store', 'Now or never');
    const listed = async (...words: string[]) => {
      const { code, out, err } = await mnemesh('list', '--json', ...words);
      assert.equal(code, 0, err);
      return JSON.parse(out).count as number;
    };
    assert.equal(await listed('--since', '7d'), 1);
    assert.equal(await listed('--since', 'today', '--until', 'today'), 1);
    assert.equal(await listed('--until', 'yesterday'), 0);
    assert.equal(await listed('--since', 'tomorrow'), 0);
    assert.equal(await listed('--since', '2 weeks ago', '--until', '1 week ago'), 0);
    const stored = JSON.parse((await mnemesh('store', 'Short', '--expires-at', '3d', '--json')).out);
    const days = (Date.parse(stored.expires_at) - Date.parse(stored.created_at)) / 86_400_000;
    assert.ok(Math.abs(days - 3) < 0.01, String(days));
    const cleared = await mnemesh('update', stored.id, '--expires-at', '', '--json');
    assert.equal(JSON.parse(cleared.out).memory.expires_at, undefined);
  });

  it('are refused with the forms that are taken', async () => {
    const { code, err } = await mnemesh('list', '--since', 'last week');
    assert.equal(code, 2);
    assert.match(
      err,
      /^error: --since: must be an RFC 3339 .*\n {2}or a date, yesterday, 7d, "2 weeks ago"\n/,
    );
    const program = await mnemesh('list', '--since', 'last week', '--json');
    assert.deepEqual(JSON.parse(program.err).fields, ['since']);
    assert.match(
      (await mnemesh('store', 'x', '--expires-at', 'yesterday')).err,
      /--expires-at lies in the past/,
    );
  });
});
