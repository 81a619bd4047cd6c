import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeDecision, permits } from '../../../protocol/hooks/decision.js';
import { HOOK_EVENT_NAMES, type HookEvent, hookEventRow } from '../../../protocol/hooks/events.js';
import fc from '../../support/properties.js';

const decode = (said: unknown, event: HookEvent = 'pre_store') =>
  decodeDecision(typeof said === 'string' ? said : JSON.stringify(said), event);

describe('the output of a hook', () => {
  it('decides nothing when it is empty or has no member', () => {
    for (const said of ['', ' \n\t', '{}']) assert.deepEqual(decode(said), { decision: null });
    for (const said of [{ action: 'allow' }, { action: 'allow', more: 1 }])
      assert.deepEqual(decode(said), { decision: { action: 'allow' } });
  });

  it('is a problem when it is no decision', () => {
    const cases: readonly (readonly [unknown, RegExp])[] = [
      ['no', /not JSON/],
      ['{"action":"allow"} x', /not JSON/],
      ['[]', /not a JSON object/],
      ['null', /not a JSON object/],
      [{ reason: 'x' }, /no action/],
      [{ action: 'veto' }, /not allow, modify, deny or ask_user/],
      [{ action: 'modify' }, /no delta/],
      [{ action: 'modify', delta: [] }, /no delta/],
      [{ action: 'modify', delta: { id: 'x' } }, /does not rewrite/],
      [{ action: 'modify', delta: { constructor: 'x' } }, /does not rewrite/],
      [{ action: 'deny' }, /no reason/],
      [{ action: 'deny', reason: ' ' }, /no reason/],
      [{ action: 'deny', reason: 'x', code: '403' }, /not a whole number/],
      [{ action: 'ask_user', options: [] }, /no prompt/],
      [{ action: 'ask_user', prompt: 'x' }, /options/],
      [{ action: 'ask_user', prompt: 'x', options: [1] }, /options/],
      [{ action: 'ask_user', prompt: 'x', options: [], default: 3 }, /default/],
    ];
    for (const [said, problem] of cases) {
      const decoded = decode(said);
      assert.ok('problem' in decoded && problem.test(decoded.problem), JSON.stringify([said, decoded]));
    }
  });

  it('denies with 403 unless it says another code', () => {
    assert.deepEqual(decode({ action: 'deny', reason: 'x' }), {
      decision: { action: 'deny', reason: 'x', code: 403 },
    });
  });

  it('decides nothing about what has happened, and rewrites nothing where nothing can be', () => {
    const said = [
      { action: 'deny', reason: 'x' },
      { action: 'ask_user', prompt: 'x', options: [] },
      { action: 'modify', delta: { title: 'x' } },
    ];
    for (const event of HOOK_EVENT_NAMES.filter((name) => !name.startsWith('pre_'))) {
      for (const each of said) {
        const decoded = decode(each, event);
        assert.ok('decision' in decoded && decoded.warning !== undefined, event);
        assert.deepEqual(decoded.decision, { action: 'allow' });
      }
    }
    const kept = decode({ action: 'modify', delta: { id: 'x' } }, 'pre_delete');
    assert.ok('decision' in kept && kept.decision?.action === 'allow' && kept.warning !== undefined);
  });

  it('names the members of a widened query as a memory has them', () => {
    const decoded = decode(
      { action: 'modify', delta: { content: 'q', namespace: 'n', priority: 3 } },
      'pre_recall_expand',
    );
    assert.deepEqual(decoded, {
      decision: { action: 'modify', delta: { query: 'q', namespace: 'n', k: 3 } },
    });
    for (const priority of [0, -1, 'x', null]) {
      const ignored = decode({ action: 'modify', delta: { priority } }, 'pre_recall_expand');
      assert.deepEqual(ignored, { decision: { action: 'modify', delta: {} } });
    }
  });

  it('never throws, and rewrites only what its event lets it', () => {
    const key = fc.constantFrom('title', 'id', 'query', 'k', 'priority', '__proto__', 'namespace');
    const said = fc.oneof(
      fc.string(),
      fc.json(),
      fc
        .record(
          {
            action: fc.constantFrom('allow', 'modify', 'deny', 'ask_user', 'x'),
            delta: fc.dictionary(key, fc.jsonValue()),
            reason: fc.jsonValue(),
            code: fc.jsonValue(),
            prompt: fc.jsonValue(),
            options: fc.jsonValue(),
            default: fc.jsonValue(),
          },
          { requiredKeys: ['action'] },
        )
        .map((value) => JSON.stringify(value)),
    );
    fc.assert(
      fc.property(said, fc.constantFrom(...HOOK_EVENT_NAMES), (text, event) => {
        const decoded = decodeDecision(text, event);
        if (!('decision' in decoded) || decoded.decision?.action !== 'modify') return;
        const { rewrites } = hookEventRow(event);
        for (const name of Object.keys(decoded.decision.delta)) assert.ok(rewrites.includes(name), name);
      }),
    );
  });
});

describe('an answer to a question', () => {
  it('permits unless it is a word that denies', () => {
    for (const word of ['allow', 'yes', 'keep it', 'delete', 'approve']) assert.ok(permits(word), word);
    for (const word of ['deny', ' No ', 'REJECT', 'cancel', 'n']) assert.ok(!permits(word), word);
  });
});
