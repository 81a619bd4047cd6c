import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NO_SEMANTICS } from '../../../node/semantics/no-semantics.js';
import { RoleSemantics } from '../../../node/semantics/role-semantics.js';
import { FakeIndex, REQUEST } from './fake-index.js';

describe('the semantic side of a process', () => {
  it('is the owner’s, then its own while it owns the database, then the owner’s again', async () => {
    const remote = new FakeIndex('remote', async () => 'unreachable');
    const local = new FakeIndex('local', async () => 'busy');
    const role = new RoleSemantics(remote);
    assert.equal(await role.evidence(REQUEST), 'unreachable');
    assert.equal(role.state().model, 'remote');
    role.own(local);
    assert.equal(await role.evidence(REQUEST), 'busy');
    assert.equal(role.state().model, 'local');
    role.own(null);
    assert.equal(await role.evidence(REQUEST), 'unreachable');
    assert.equal(role.state().model, 'remote');
    assert.deepEqual([remote.asked.length, local.asked.length], [2, 1]);
    assert.deepEqual(local.asked, [REQUEST]);
  });

  it('closes what it has', async () => {
    const [remote, local] = [new FakeIndex('remote'), new FakeIndex('local')];
    const role = new RoleSemantics(remote);
    role.own(local);
    await role.close();
    assert.deepEqual([remote.closed, local.closed], [1, 1]);
  });

  it('is disabled in keyword mode, and says so', async () => {
    assert.equal(await NO_SEMANTICS.evidence(REQUEST), 'disabled');
    assert.equal(NO_SEMANTICS.state().enabled, false);
    await NO_SEMANTICS.close();
  });
});
