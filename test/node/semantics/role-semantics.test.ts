import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NO_SEMANTICS } from '../../../node/semantics/no-semantics.js';
import { RoleSemantics } from '../../../node/semantics/role-semantics.js';
import { FakeIndex, REQUEST } from './fake-index.js';

describe('the semantic side of a process', () => {
  it('answers while it owns the database, and says that nobody does else', async () => {
    const local = new FakeIndex('local', async () => 'busy');
    const role = new RoleSemantics();
    assert.deepEqual([role.state().model, role.state().failing], ['owner', false]);
    assert.equal(await role.evidence(REQUEST), 'unreachable');
    assert.deepEqual([role.state().model, role.state().failing], ['owner', true]);
    role.own(local);
    assert.equal(await role.evidence(REQUEST), 'busy');
    assert.equal(role.state().model, 'local');
    role.own(null);
    assert.equal(await role.evidence(REQUEST), 'unreachable');
    assert.equal(role.state().model, 'owner');
    assert.deepEqual(local.asked, [REQUEST]);
  });

  it('asks once for each question whether it may answer itself', async () => {
    const local = new FakeIndex('local', async () => 'busy');
    const role = new RoleSemantics();
    let asked = 0;
    role.whenUnreachable(async () => {
      asked += 1;
      if (asked > 1) role.own(local);
    });
    const answers = [
      await role.evidence(REQUEST),
      await role.evidence(REQUEST),
      await role.evidence(REQUEST),
    ];
    assert.deepEqual([answers, asked], [['unreachable', 'busy', 'busy'], 2]);
  });

  it('asks the next one where the first was closed under a question', async () => {
    const local = new FakeIndex('local', async () => 'empty');
    const role = new RoleSemantics();
    role.own(
      new FakeIndex('before', async () => {
        role.own(local);
        return 'busy';
      }),
    );
    assert.equal(await role.evidence(REQUEST), 'empty');
  });

  it('closes what it has', async () => {
    const local = new FakeIndex('local');
    const role = new RoleSemantics();
    role.own(local);
    await role.close();
    assert.equal(local.closed, 1);
  });

  it('is disabled in keyword mode, and says so', async () => {
    assert.equal(await NO_SEMANTICS.evidence(REQUEST), 'disabled');
    assert.equal(NO_SEMANTICS.state().enabled, false);
    await NO_SEMANTICS.close();
  });
});
