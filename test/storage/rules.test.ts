import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type Database from 'better-sqlite3';
import { signerOf } from '../../node/identity/key-file.js';
import { systemCrypto, systemRandom, systemScheduler } from '../../node/seams.js';
import type { Signer } from '../../protocol/base/seams.js';
import type { RuleSettings } from '../../protocol/decide/permissions.js';
import type { Command } from '../../protocol/release.js';
import type { Action } from '../../protocol/rules/action.js';
import type { Rule } from '../../protocol/rules/rule-kind.js';
import { ruleBytes, ruleRemovalBytes } from '../../protocol/rules/rule-signature.js';
import type { RuleDecision } from '../../protocol/rules/rules.js';
import { InlineStore } from '../../storage/sql/inline-store.js';
import { openDatabase } from '../../storage/sqlite/open-database.js';
import { storing, UNLIMITED } from '../support/memories.js';
import { replica, verified } from '../support/replicas.js';
import { aRule } from '../support/rules.js';

const START_MS = Date.parse('2026-01-02T00:00:00.000Z');
const OPERATOR = signerOf(new Uint8Array(32).fill(1));
const STRANGER = signerOf(new Uint8Array(32).fill(2));
const SIGNED: RuleSettings = { operatorKey: OPERATOR.publicKey, failOpen: false };
const OPEN: RuleSettings = { operatorKey: null, failOpen: true };
const PUSH: Action = { kind: 'bash', command: 'git push --force', cwd: null };
const BY = 'ai:operator';

interface Node {
  readonly db: Database.Database;
  /** The answer of a command: `ok`, or the code of its failure. */
  answer(command: Command): Promise<string>;
  check(action?: Action): Promise<RuleDecision>;
  events(): readonly unknown[];
}

function node(rules?: RuleSettings): Node {
  const identity = { peerId: 'peer-a' };
  const opened = { path: ':memory:', identity, nowMs: START_MS, crypto: systemCrypto };
  const db = openDatabase({ ...opened, freshEpoch: 'epocha', busyTimeoutMs: 100 });
  const store = new InlineStore({
    ...{ db, crypto: systemCrypto, scheduler: systemScheduler, random: systemRandom, shared: false },
    ...{ clock: { nowMs: () => START_MS, monotonicMs: () => START_MS }, signer: null },
    reportBug: (error) => assert.fail(String(error)),
    policy: { ...UNLIMITED, rules: rules ?? UNLIMITED.rules },
  });
  return {
    db,
    async answer(command) {
      const result = await store.execute(command);
      return result.ok ? 'ok' : `${result.error.code}: ${result.error.message}`;
    },
    async check(action = PUSH) {
      const result = await store.execute({ kind: 'check-action', action, agentId: 'ai:alice' });
      assert.ok(result.ok, JSON.stringify(result));
      return result.value.said;
    },
    events: () =>
      db
        .prepare('SELECT agent_id, event_type, payload FROM signed_events ORDER BY sequence')
        .all()
        .map((row) => {
          const { agent_id, event_type, payload } = row as Record<string, string>;
          return [event_type, agent_id, JSON.parse(payload!)];
        }),
  };
}

const signed = (rule: Rule, by: Signer = OPERATOR): Rule => ({
  ...rule,
  signature: Buffer.from(by.sign(ruleBytes(rule))).toString('base64'),
  attest_level: 'operator_signed',
});
const adding = (rule: Rule): Command => ({ kind: 'put-rule', rule, replaces: null, by: BY });
const changing = (rule: Rule, before: Rule): Command => ({
  ...{ kind: 'put-rule', rule, replaces: before.updated_at, by: BY },
});
const removing = (id: string, signature: string | null = null): Command => ({
  ...{ kind: 'remove-rule', id, signature, by: BY },
});
/** Brings a rule as another node of the mesh does. */
async function plant(one: Node, rule: Rule): Promise<void> {
  const peer = replica('b', START_MS - 1000);
  const record = { kind: 'rule', id: rule.rule_id, namespace: '_mesh', image: rule };
  await peer.run({ kind: 'import-record', record, revive: true });
  const operations = (await peer.read()).map(verified);
  const heads = operations
    .slice(-1)
    .map(({ origin, seq, hash }) => ({ origin, seq, hash, signature: 'test' }));
  const applying = { kind: 'apply-operations', from: 'peer-b', heads, nonce: null } as const;
  assert.equal(await one.answer({ ...applying, operations }), 'ok');
  assert.equal(one.db.prepare("SELECT count(*) FROM records WHERE kind = 'rule'").pluck().get(), 1);
}

describe('rules in a database', () => {
  it('decide about actions from the moment that they are written', async () => {
    const one = node();
    assert.equal((await one.check()).decision, 'allow');
    const rule = aRule('R1');
    assert.equal(await one.answer(adding(rule)), 'ok');
    assert.deepEqual(await one.check(), {
      decision: 'refuse',
      rule_id: 'R1',
      reason: 'ask first',
      logged: [],
    });
    const disabled = { ...rule, enabled: false, updated_at: '2026-01-02T00:00:00.000Z' };
    assert.equal(await one.answer(changing(disabled, rule)), 'ok');
    assert.equal((await one.check()).decision, 'allow');
    assert.equal(await one.answer(changing({ ...disabled, enabled: true }, disabled)), 'ok');
    assert.equal((await one.check()).decision, 'refuse');
    assert.equal(await one.answer(removing('R1')), 'ok');
    assert.equal((await one.check()).decision, 'allow');
  });

  it('are written once, not over a change of somebody else, and only when they can be evaluated', async () => {
    const one = node();
    const rule = aRule('R1');
    assert.equal(await one.answer(adding(rule)), 'ok');
    assert.match(await one.answer(adding(rule)), /^CONFLICT/);
    assert.match(await one.answer(changing(rule, { ...rule, updated_at: 'earlier' })), /^CONFLICT/);
    assert.match(await one.answer(changing(aRule('R2'), rule)), /^NOT_FOUND/);
    assert.match(await one.answer(removing('R2')), /^NOT_FOUND/);
    for (const wrong of [
      { matcher: { x: 1 } },
      { severity: 'escalate' },
      { rule_kind: 'time_travel' },
      { for_namespace: 'team' },
      { for_namespace: 'a//b', rule_kind: 'custom', matcher: { kind: 'x' } },
      { reason: 'x'.repeat(1001) },
      { rule_id: 'a/b' },
    ]) {
      assert.match(await one.answer(adding(aRule('R3', wrong))), /^VALIDATION_FAILED/, JSON.stringify(wrong));
    }
  });

  it('leave a trail: every check, every refusal and every change', async () => {
    const one = node();
    await one.answer(adding(aRule('R1')));
    await one.answer(adding(aRule('R2', { severity: 'log', matcher: { command_substring: 'ls' } })));
    await one.check();
    await one.check({ kind: 'bash', command: 'ls secret', cwd: null });
    await one.answer(removing('R1'));
    const added = { kind: 'bash', enabled: true, attest_level: 'unsigned' };
    const refused = { kind: 'bash', decision: 'refuse', rule_id: 'R1' };
    assert.deepEqual(one.events(), [
      ['governance.rule_added', BY, { ...added, id: 'R1', severity: 'refuse' }],
      ['governance.rule_added', BY, { ...added, id: 'R2', severity: 'log' }],
      ['governance.check', 'ai:alice', refused],
      ['governance.refusal', 'ai:alice', refused],
      ['governance.check', 'ai:alice', { kind: 'bash', decision: 'allow', rule_id: null, logged: ['R2'] }],
      ['governance.rule_removed', BY, { id: 'R1', kind: 'bash', severity: 'refuse', enabled: true }],
    ]);
    assert.ok(!JSON.stringify(one.events()).includes('secret'), 'the trail does not quote the action');
  });
});

describe('rules under the key of an operator', () => {
  it('count only with its signature, over every member', async () => {
    const one = node(SIGNED);
    const rule = aRule('R1');
    await plant(one, rule);
    assert.equal((await one.check()).decision, 'allow', 'unsigned');
    const good = signed(rule);
    const tampered: Record<string, Partial<Rule>> = {
      rule_id: { rule_id: 'R2' },
      rule_kind: { rule_kind: 'time_travel' },
      matcher: { matcher: { command_substring: 'git' } },
      severity: { severity: 'warn' },
      reason: { reason: 'another' },
      for_namespace: { for_namespace: 'team' },
      created_by: { created_by: 'ai:mallory' },
      created_at: { created_at: '2025-01-01T00:00:00.000Z' },
      updated_at: { updated_at: '2025-01-01T00:00:00.000Z' },
      rest: { rest: { later: true } },
    };
    for (const [member, change] of Object.entries(tampered)) {
      const other = node(SIGNED);
      await plant(other, { ...good, ...change });
      assert.equal((await other.check()).decision, 'allow', `${member} changed after the signature`);
    }
    const enabledLater = node(SIGNED);
    await plant(enabledLater, { ...signed({ ...rule, enabled: false }), enabled: true });
    assert.equal((await enabledLater.check()).decision, 'allow');
    const strange = node(SIGNED);
    await plant(strange, signed(rule, STRANGER));
    assert.equal((await strange.check()).decision, 'allow', 'signed with another key');
    const sound = node(SIGNED);
    await plant(sound, good);
    assert.equal((await sound.check()).rule_id, 'R1');
  });

  it('are added, changed and removed only with its signature', async () => {
    const one = node(SIGNED);
    const rule = aRule('R1');
    assert.match(await one.answer(adding(rule)), /^FORBIDDEN.*--sign/);
    assert.match(await one.answer(adding(signed(rule, STRANGER))), /^FORBIDDEN/);
    assert.equal(await one.answer(adding(signed(rule))), 'ok');
    const off = { ...rule, enabled: false, updated_at: '2026-01-02T00:00:00.000Z' };
    assert.match(await one.answer(changing(off, rule)), /^FORBIDDEN/);
    assert.match(await one.answer(removing('R1')), /^FORBIDDEN/);
    const stale = Buffer.from(OPERATOR.sign(ruleRemovalBytes(off))).toString('base64');
    assert.match(await one.answer(removing('R1', stale)), /^FORBIDDEN/);
    assert.equal((await one.check()).decision, 'refuse');
    assert.equal(await one.answer(changing(signed(off), rule)), 'ok');
    assert.equal((await one.check()).decision, 'allow');
    assert.equal(await one.answer(removing('R1')), 'ok', 'without effect it may go');
    assert.equal(await one.answer(adding(aRule('R2', { enabled: false }))), 'ok', 'and come');
    await one.answer(adding(signed(rule)));
    const record = { kind: 'rule', id: 'R1', namespace: '_mesh', image: off };
    assert.match(await one.answer({ kind: 'import-record', record, revive: true }), /^FORBIDDEN/);
    const removal = Buffer.from(OPERATOR.sign(ruleRemovalBytes(rule))).toString('base64');
    assert.equal(await one.answer(removing('R1', removal)), 'ok');
  });
});

describe('rules about writes of memories', () => {
  const rule = aRule('W1', {
    rule_kind: 'custom',
    matcher: { kind: 'memory_write', tier: 'long' },
    for_namespace: 'team',
    reason: 'long memories of the team are reviewed',
  });
  const write = (namespace: string, tier: 'mid' | 'long') =>
    storing({ id: `${namespace.replace('/', '-')}-${tier}`, title: `${namespace} ${tier}`, namespace, tier });

  it('refuse those that they are about, and record it', async () => {
    const one = node();
    await one.answer(adding(rule));
    assert.equal(await one.answer(write('team', 'mid')), 'ok');
    assert.equal(await one.answer(write('other', 'long')), 'ok');
    assert.equal(
      await one.answer(write('team/a', 'long')),
      'GOVERNANCE_REFUSED: rule W1: long memories of the team are reviewed',
    );
    assert.equal(one.db.prepare('SELECT count(*) FROM memories').pluck().get(), 2);
    assert.deepEqual(one.events().at(-1), [
      ...['governance.refusal', 'operator'],
      { kind: 'memory_write', rule_id: 'W1', namespace: 'team/a' },
    ]);
  });

  it('only warn or note where they say so', async () => {
    const one = node();
    await one.answer(adding({ ...rule, severity: 'warn' }));
    await one.answer(adding({ ...rule, rule_id: 'W2', severity: 'log' }));
    assert.equal(await one.answer(write('team', 'long')), 'ok');
  });

  it('refuse when they cannot be evaluated, unless the node fails open', async () => {
    const unreadable = {
      ...rule,
      for_namespace: '_global',
      matcher: { kind: 'memory_write', phase: 'full' },
    };
    for (const [rules, expected] of [
      [undefined, /^GOVERNANCE_REFUSED: rule W1: the rule cannot be evaluated/],
      [OPEN, /^ok$/],
    ] as const) {
      const one = node(rules);
      await plant(one, unreadable);
      assert.match(await one.answer(write('other', 'mid')), expected);
    }
  });

  it('refuse while a rule is damaged, unless the node fails open', async () => {
    for (const [rules, expected] of [
      [undefined, /^DATA_DAMAGED/],
      [OPEN, /^ok$/],
    ] as const) {
      const one = node(rules);
      await one.answer(adding(rule));
      one.db
        .prepare("UPDATE records SET payload = replace(payload, 'long', 'mid') WHERE kind = 'rule'")
        .run();
      assert.match(await one.answer(write('other', 'mid')), expected);
    }
  });

  it('of a later release about something else refuse no write', async () => {
    const one = node();
    await plant(one, aRule('R9', { rule_kind: 'time_travel', matcher: { year: 1955 } }));
    assert.equal(await one.answer(write('team', 'long')), 'ok');
    assert.equal((await one.check({ kind: 'bash', command: 'ls', cwd: null })).rule_id, 'R9');
  });
});
