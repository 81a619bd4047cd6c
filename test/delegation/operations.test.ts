import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OPERATIONS } from '../../node/operations/registry.js';
import { rightsFor } from '../../node/pipeline/grant-problem.js';
import { isWithin, withinBoth } from '../../protocol/base/within.js';
import fc from '../support/properties.js';

const named = (delegable: string) =>
  OPERATIONS.filter((operation) => operation.delegable === delegable).map(({ name }) => name);

describe('what tokens are for', () => {
  it('follows for each operation from its declaration', () => {
    for (const operation of OPERATIONS) {
      const rights = rightsFor(operation);
      assert.ok(rights.includes(operation.effect), operation.name);
      assert.equal(rights.includes('admin'), operation.guards.admin === true, operation.name);
    }
  });

  it('is never what outlives them', () => {
    const never = named('never');
    for (const name of ['token_mint', 'token_list', 'token_revoke', 'token_inspect', 'token_narrow'])
      assert.ok(never.includes(name), name);
    for (const name of ['agent_bind_key', 'agent_revoke_key']) assert.ok(never.includes(name), name);
    for (const name of ['memory_agent_register', 'memory_subscribe', 'memory_pending_approve', 'hook_answer'])
      assert.ok(never.includes(name), name);
  });

  it('is about single namespaces in operations on memories and links alone', () => {
    const families = new Set(
      OPERATIONS.filter(({ delegable }) => delegable === 'by-namespace').map(({ family }) => family),
    );
    assert.ok(named('by-namespace').length >= 30);
    for (const family of ['power', 'other']) {
      const names = OPERATIONS.filter((each) => each.family === family && each.delegable === 'by-namespace');
      assert.deepEqual(
        names.filter(({ name }) => name !== 'memory_check_duplicate').map(({ name }) => name),
        [],
        family,
      );
    }
    assert.ok(families.has('core') && families.has('graph'));
  });
});

const segment = fc.constantFrom('a', 'b', 'ab');
const place = fc.array(segment, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'));
const pattern = fc.tuple(place, fc.boolean()).map(([name, below]) => (below ? `${name}/**` : name));
const patterns = fc.array(pattern, { maxLength: 4 });

describe('patterns of namespaces', () => {
  it('leave together what both leave', () => {
    fc.assert(
      fc.property(patterns, patterns, place, (one, other, namespace) => {
        const both = withinBoth(one, other);
        assert.equal(isWithin(namespace, both), isWithin(namespace, one) && isWithin(namespace, other));
      }),
    );
  });

  it('that are absent leave all', () => {
    assert.ok(isWithin('a', undefined));
    assert.deepEqual(withinBoth(undefined, ['a']), ['a']);
    assert.ok(!isWithin('a', []));
  });
});
