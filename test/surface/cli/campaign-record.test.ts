import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { campaignRecordCheck } from '../../../cli/campaign-record.js';
import { PROJECT } from '../../architecture/source-files.js';

type Fields = Record<string, unknown>;

const fixture = (name: string) => readFileSync(join(PROJECT, 'fixtures/campaign', name), 'utf8');
const [first] = fixture('valid.jsonl').split('\n');
const valid = (): Fields => JSON.parse(first as string);

function checkOf(rules: Partial<Parameters<typeof campaignRecordCheck>[0]> = {}) {
  const check = campaignRecordCheck({ frameworks: [], agents: [], nodePrefix: null, ...rules });
  assert.ok(check.ok);
  return check.value;
}
const check = checkOf();

/** The valid record with one value replaced; undefined takes it away. */
function changed(path: string, value: unknown): Fields {
  const record = valid();
  const keys = path.split('.');
  const last = keys.pop() as string;
  const holder = keys.reduce<Fields>((at, key) => at[key] as Fields, record);
  if (value === undefined) delete holder[last];
  else holder[last] = value;
  return record;
}

const HASHES = ['', 'A'.repeat(64), '0'.repeat(63), '0'.repeat(65), `${'0'.repeat(64)}\n`, 'g'.repeat(64), 0];
const COUNTS = [-1, 1.5, '1', null, Number.MAX_SAFE_INTEGER + 1];
const BOOLEANS = ['true', 1, null];
const TEXTS = [1, null, {}];
const ENUM = ['', 'none', 1, null];

/** Values that each field refuses. */
const REFUSED: Readonly<Record<string, readonly unknown[]>> = {
  schema_version: [
    '1.2.0-a2a-nhi-3',
    'v1.2-a2a-nhi-3',
    'v1.2.0-a2a-nhi-',
    'v1.2.0.1.2-a2a-nhi-1',
    'v1.2.0',
    3,
  ],
  campaign_id: [
    'a2a-alpha-v1.2-r1',
    'a2a-alpha-v1.2.3-r',
    'a2a--v1.2.3-r1',
    'a2a-alpha-1.2.3-r1',
    'a2a-Alpha-v1.2.3-r1',
    'a2a-alpha-v01.2.3-r1',
    null,
  ],
  node_id: ['droplet', 'droplet-', 'droplet-Alice', '-alice', 'droplet_a', 1],
  release: ['0.7.0', 'v0.7', 'v0.7.0.', 'v0.7.0.1.2', 'v0.7.0-rc1', 1],
  phase: [1, 4, 2.5, '2', null],
  scenario_id: ENUM,
  control_arm: ENUM,
  run_index: [0, 4, 1.5, '1', null],
  turn_id: [
    'E-treatment-r2-t1',
    'A-treatment-r4-t1',
    'A-treatment-r2-t',
    'A-treatment-r2-t1x',
    'A-cold-r2-t1',
    'B-treatment-r2-t1',
    'A-treatment-r1-t1',
    1,
  ],
  agent_id: ['alice', 'ai:', 'human:alice', 'ai:a b', 1],
  agent_framework: ['', 'Alpha', 'a b', 1],
  timestamp_utc: [
    '2026-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-01',
    '2026-01-01T24:00:00Z',
    '2026-01-01T00:60:00Z',
    '2026-01-01T00:00:00.Z',
    '2026-01-01T00:00:00+24:00',
    '2026-01-01 00:00:00Z',
    '2026-00-10T00:00:00Z',
    1,
  ],
  llm_model_sku: ['', 1, null],
  system_prompt_sha256: HASHES,
  prompt_sha256: HASHES,
  tools_called: [{}, null, 'x', [1]],
  'tools_called.0.tool_name': TEXTS,
  'tools_called.0.args_sha256': HASHES,
  'tools_called.0.args_size_bytes': COUNTS,
  'tools_called.0.result_sha256': HASHES,
  'tools_called.0.result_size_bytes': COUNTS,
  'tools_called.0.duration_ms': COUNTS,
  'tools_called.0.ok': BOOLEANS,
  ai_memory_ops: [{}, null, [null]],
  'ai_memory_ops.0.op': ENUM,
  'ai_memory_ops.0.namespace': TEXTS,
  'ai_memory_ops.0.key_or_query': TEXTS,
  'ai_memory_ops.0.scope': ENUM,
  'ai_memory_ops.0.transport': ENUM,
  'ai_memory_ops.0.payload_sha256': HASHES,
  'ai_memory_ops.0.returned_records': COUNTS,
  'ai_memory_ops.0.duration_ms': COUNTS,
  'ai_memory_ops.0.ok': BOOLEANS,
  claims_made: [{}, null],
  'claims_made.0.claim_id': TEXTS,
  'claims_made.0.text_sha256': HASHES,
  'claims_made.0.category': ENUM,
  claims_grounded: [{}, null],
  'claims_grounded.0.claim_id': TEXTS,
  'claims_grounded.0.grounded_in_op_index': COUNTS,
  'claims_grounded.0.grounding_strength': ENUM,
  refusals: [{}, null],
  'refusals.0.reason': TEXTS,
  'refusals.0.category': ENUM,
  termination_reason: ENUM,
  self_confidence: [-0.01, 1.01, '0.5', null],
  notes: [1, null, 'x'.repeat(501)],
};

/** Every path of the valid record, list members by their first. */
function pathsOf(value: unknown, before = ''): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    ...(Array.isArray(value) ? [] : [before + key]),
    ...pathsOf(inner, `${before}${key}.`),
  ]);
}

const shown = (path: string) => path.replace(/\.(\d+)/g, '[$1]');

describe('the record of a turn', () => {
  it('is valid in the fixtures, and with what is at the edge', () => {
    for (const line of fixture('valid.jsonl').trim().split('\n')) {
      assert.deepEqual(check(JSON.parse(line)), []);
    }
    for (const [path, value] of [
      ['notes', undefined],
      ['notes', '🦉'.repeat(500)],
      ['self_confidence', 0],
      ['timestamp_utc', '2026-01-01T00:00:00'],
      ['timestamp_utc', '2000-02-29T23:59:59.1-11:30'],
      ['claims_grounded.0.grounded_in_op_index', 99],
      ['campaign_id', 'a2a-al-v2-v1.2.3+build.5-r007'],
    ] as const) {
      assert.deepEqual(check(changed(path, value)), [], `${path} ${value}`);
    }
  });

  it('has a rule for every field here', () => {
    assert.deepEqual(pathsOf(valid()).sort(), Object.keys(REFUSED).sort());
  });

  for (const [path, values] of Object.entries(REFUSED)) {
    it(`refuses wrong values of ${path}, and names the place`, () => {
      for (const value of values) {
        const problems = check(changed(path, value));
        assert.ok(problems.length > 0, `${path} = ${JSON.stringify(value)}`);
        assert.ok(
          problems.every((problem) => problem.path.startsWith(shown(path))),
          JSON.stringify(problems),
        );
      }
    });
    if (path === 'notes') continue;
    it(`requires ${path}`, () => {
      assert.deepEqual(
        check(changed(path, undefined)).map((problem) => problem.path),
        [shown(path)],
      );
    });
  }

  it('refuses another field at any level', () => {
    for (const level of [
      '',
      'tools_called.0.',
      'ai_memory_ops.0.',
      'claims_made.0.',
      'claims_grounded.0.',
      'refusals.0.',
    ]) {
      const problems = check(changed(`${level}surplus`, 1));
      assert.deepEqual(problems, [{ path: shown(`${level}surplus`), message: 'is not a known field' }]);
    }
  });

  it('is an object', () => {
    for (const value of [null, [], 'x', 1]) assert.ok(check(value).length > 0);
  });

  it('names the frameworks, agents and nodes of its campaign where those are given', () => {
    const strict = checkOf({
      frameworks: ['alpha', 'beta'],
      agents: ['ai:alice', 'ai:bob'],
      nodePrefix: 'droplet',
    });
    assert.deepEqual(strict(valid()), []);
    for (const [path, value] of [
      ['campaign_id', 'a2a-gamma-v1.2.3-r1'],
      ['agent_framework', 'gamma'],
      ['agent_id', 'ai:carol'],
      ['node_id', 'host-a'],
    ] as const) {
      assert.deepEqual(
        strict(changed(path, value)).map((problem) => problem.path),
        [path],
      );
    }
    assert.ok(!campaignRecordCheck({ frameworks: ['A B'], agents: [], nodePrefix: null }).ok);
    assert.ok(!campaignRecordCheck({ frameworks: [], agents: [], nodePrefix: '.*' }).ok);
  });
});
