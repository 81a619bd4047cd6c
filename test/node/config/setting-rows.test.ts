import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SECRET_SECTIONS } from '../../../node/config/config-table.js';
import { loadSettings } from '../../../node/config/load-settings.js';
import type { Secret } from '../../../node/config/secret.js';
import {
  defaultOf,
  type SettingRow,
  type SettingRows,
  type SettingsOf,
} from '../../../node/config/setting-row.js';
import { defaultsIn, SETTINGS, type Settings } from '../../../node/config/settings.js';

const ROWS = {
  word: { type: 'text', default: 'a', oneOf: ['a', 'b'], doc: '' },
  name: { type: 'text', default: null, doc: '' },
  file: { type: 'path', default: (home: string) => `${home}/x`, doc: '' },
  wait: { type: 'integer', default: 2, convert: (seconds: number) => seconds * 1000, doc: '' },
  age: { type: 'integer', default: 3, convert: (days: number) => (days <= 0 ? null : days), doc: '' },
  on: { type: 'boolean', default: true, doc: '' },
  ids: { type: 'list', default: [], doc: '' },
  key: { type: 'secret', default: null, doc: '' },
} as const satisfies SettingRows;

/** Compiles only when both are the same type. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

describe('a row', () => {
  it('says what the program holds', () => {
    const held: Same<
      SettingsOf<typeof ROWS>,
      {
        readonly word: 'a' | 'b';
        readonly name: string | null;
        readonly file: string;
        readonly wait: number;
        readonly age: number | null;
        readonly on: boolean;
        readonly ids: readonly string[];
        readonly key: Secret | null;
      }
    > = true;
    const inTheProgram: Same<
      Pick<Settings, 'profile' | 'archiveMaxDays' | 'quorumWrites' | 'dbPath'>,
      {
        readonly profile: string;
        readonly archiveMaxDays: number | null;
        readonly quorumWrites: number;
        readonly dbPath: string;
      }
    > = true;
    assert.ok(held && inTheProgram);
  });

  it('gives its default in the unit of the program, and from the home', () => {
    assert.deepEqual(
      Object.values<SettingRow>(ROWS).map((row) => defaultOf(row, '/home')),
      ['a', null, '/home/x', 2000, 3, true, [], null],
    );
  });

  it('has a default that it would take from an operator', () => {
    for (const row of SETTINGS) {
      const { default: value, min, max, oneOf } = row;
      if (typeof value === 'number') {
        assert.ok(Number.isSafeInteger(value), row.key);
        assert.ok(value >= (min ?? value) && value <= (max ?? value), row.key);
      }
      if (oneOf !== undefined && value !== null) assert.ok(oneOf.includes(value as string), row.key);
    }
  });

  it('whose key is in a section names one that may not hold it inline', () => {
    const named = SETTINGS.flatMap((row) => row.secretSection ?? []);
    assert.deepEqual(named.sort(), [...SECRET_SECTIONS].sort());
  });
});

describe('the defaults', () => {
  it('are what holds in a home without a configuration', () => {
    const env = { SVC_NO_CONFIG: '1' };
    assert.deepEqual(loadSettings({ home: '/nowhere' }, { env }), defaultsIn('/nowhere'));
  });

  it('are in the unit of the program', () => {
    const { requestTimeoutMs, shutdownGraceMs, catchupIntervalMs, scrubIntervalMs, payloadKeptMs, dbPath } =
      defaultsIn('/nowhere');
    assert.deepEqual(
      [requestTimeoutMs, shutdownGraceMs, catchupIntervalMs, scrubIntervalMs, payloadKeptMs, dbPath],
      [60_000, 30_000, 30_000, 604_800_000, 7_776_000_000, '/nowhere/mnemesh.db'],
    );
  });
});
