import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { localCaller, localIdentity } from '../../../node/identity/local-caller.js';
import { systemRandom } from '../../../node/seams.js';
import { agentIdProblem } from '../../../protocol/base/ids.js';

const identity = (hostname: string, agentId: string | null = null) =>
  localIdentity({ agentId, adminAgentIds: ['boss'] }, { hostname, pid: 42 }, systemRandom);

function agent(
  hostname: string,
  client: string | null,
  configured: string | null = null,
  explicit: string | null = null,
) {
  const caller = localCaller(identity(hostname, configured), explicit, client);
  assert.ok(caller.ok);
  return caller.value.agentId;
}

describe('the ladder of local identities', () => {
  it('goes from the explicit id to the configured, the client, the host and nobody', () => {
    assert.equal(agent('box', 'Client', 'configured', 'explicit'), 'explicit');
    assert.equal(agent('box', 'Client', 'configured'), 'configured');
    assert.equal(agent('box', 'Client'), 'ai:Client@box:pid-42');
    assert.match(agent('box', null), /^host:box:pid-42-[0-9a-f]{8}$/);
    assert.match(agent('', null), /^anonymous:pid-42-[0-9a-f]{8}$/);
  });

  it('names no host where anonymous ids are wanted, and keeps an id that is given', () => {
    const settings = { agentId: null, adminAgentIds: [], anonymize: true };
    const process = { hostname: 'box', pid: 42 };
    const made = (explicit: string | null, client: string | null) => {
      const caller = localCaller(localIdentity(settings, process, systemRandom), explicit, client);
      return caller.ok ? caller.value.agentId : '';
    };
    assert.match(made(null, null), /^anonymous:pid-42-[0-9a-f]{8}$/);
    assert.equal(made(null, 'Client'), 'ai:Client:pid-42');
    assert.equal(made('explicit', null), 'explicit');
  });

  it('makes an agent id of whatever a client calls itself', () => {
    for (const name of [
      'a b',
      '../../etc',
      '; rm -rf /',
      'ü',
      '\u0000',
      'x'.repeat(500),
      '....',
      '-',
      '@',
      'daemon',
    ]) {
      for (const host of ['box', 'b o x', 'h'.repeat(300), '..', '']) {
        assert.equal(agentIdProblem(agent(host, name)), null, `${name} on ${host}`);
      }
    }
  });

  it('keeps the made id of a process from call to call', () => {
    const one = identity('box');
    assert.deepEqual(localCaller(one, null, null), localCaller(one, null, null));
  });

  it('refuses explicit and configured ids that are none', () => {
    for (const id of ['', 'a b', 'daemon', 'x'.repeat(129)]) {
      assert.equal(localCaller(identity('box'), id, null).ok, false, id);
      assert.equal(localCaller(identity('box', id), null, null).ok, false, id);
    }
  });

  it('lets the configured id alone decide what is seen', () => {
    const viewer = (configured: string | null, explicit: string | null) => {
      const caller = localCaller(identity('box', configured), explicit, null);
      return caller.ok ? caller.value.viewer : null;
    };
    assert.deepEqual(viewer(null, 'alice'), { all: true, agentId: null, asNamespace: null });
    assert.deepEqual(viewer('bob', 'alice'), { all: false, agentId: 'bob', asNamespace: null });
  });

  it('knows admins by their id, and the configured id before one that a call names', () => {
    const admin = (configured: string | null, explicit: string | null) => {
      const caller = localCaller(identity('box', configured), explicit, null);
      return caller.ok && caller.value.admin;
    };
    assert.equal(admin('boss', null), true);
    assert.equal(admin('boss', 'alice'), true);
    assert.equal(admin(null, 'boss'), true);
    assert.equal(admin('bob', 'boss'), false, 'naming an admin makes nobody one');
  });
});
