import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Settings } from '../../../node/config/settings.js';
import type { Services } from '../../../node/pipeline/call.js';
import { LocalSocket } from '../../../node/runtime/local-socket.js';
import { OwnerDuties } from '../../../node/runtime/owner-duties.js';
import { systemCrypto, systemRandom } from '../../../node/seams.js';
import type { OwnedSemantics } from '../../../node/semantics/owned-semantics.js';
import { RoleSemantics } from '../../../node/semantics/role-semantics.js';
import { presenceOf } from '../../../node/threads/presence.js';
import { OWNER_RENEW_MS } from '../../../protocol/base/limits.js';
import { ok } from '../../../protocol/base/result.js';
import type { Command } from '../../../protocol/release.js';
import type { Store } from '../../../storage/port.js';
import { FakeScheduler } from '../../actors/fake-scheduler.js';
import { recordingLog } from '../../storage/vectors/real-seams.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { FakeIndex } from '../semantics/fake-index.js';

/** Duties over a store whose claims the test answers. */
function fixture(given?: LocalSocket) {
  const home = temporaryFolder('duties');
  const scheduler = new FakeScheduler();
  const claims: ((owned: boolean) => void)[] = [];
  const locals: FakeIndex[] = [];
  const released: string[] = [];
  const store: Store = {
    execute: (command: Command) => {
      if (command.kind === 'release-ownership') released.push(command.holder);
      if (command.kind !== 'claim-ownership')
        return Promise.resolve(ok({ expired: 0, more: false })) as never;
      return new Promise((resolve) => {
        claims.push((owned) => resolve(ok({ owned, fencing: 1, holder: 'h' })));
      }) as never;
    },
    // The process with the number 1 always lives.
    query: () => Promise.resolve(ok({ commitSequence: 1, rows: [], holder: 'daemon:1:other' })) as never,
    selfCheck: () => Promise.resolve(ok({ problems: [], next: null })),
    close: () => Promise.resolve(),
  };
  const role = new RoleSemantics();
  const openLocal = () => {
    const local = Object.assign(new FakeIndex('local'), {
      open: () => Promise.resolve(),
      warm: () => Promise.resolve(),
    });
    locals.push(local);
    return local as unknown as OwnedSemantics;
  };
  const settings = { home, dbPath: join(home, 'x.db'), storeUrl: null };
  const services = { settings, crypto: systemCrypto } as Services;
  const duties = new OwnerDuties({
    store,
    peerId: 'peer-00000000000000aa',
    role: 'mcp',
    holder: 'h',
    settings: {
      archiveOnGc: true,
      nearDuplicate: 'flag',
      observationsTtlDays: 7,
      recallTrace: true,
      confidenceShadowDays: 30,
    } as unknown as Settings,
    clock: scheduler,
    scheduler,
    random: systemRandom,
    log: recordingLog(),
    presence: presenceOf({
      settings,
      ...{ holder: 'h', crypto: systemCrypto, clock: scheduler, scheduler },
    }),
    socket: () => given ?? new LocalSocket(services, 'mcp:1:h', recordingLog()),
    semantic: { role, openLocal },
  });
  const sockets = () => readdirSync(home).filter((name) => name.endsWith('.sock'));
  const startOwnership = async () => {
    const running = await duties.children()[0]!.start(new AbortController().signal);
    await scheduler.advance(0);
    assert.equal(claims.length, 1);
    return running;
  };
  /** Lets what touches files come to rest too. */
  const rest = async () => {
    for (let turn = 0; turn < 20; turn += 1) await scheduler.settle();
  };
  return { home, scheduler, claims, locals, released, role, duties, sockets, startOwnership, rest };
}

describe('the duties of an owner', () => {
  it('begin with the ownership and end with it', async () => {
    const { home, scheduler, claims, locals, role, duties, sockets, startOwnership, rest, released } =
      fixture();
    const ownership = await startOwnership();
    assert.deepEqual([duties.owned, role.state().model], [false, 'owner']);
    claims[0]!(true);
    await rest();
    assert.deepEqual([duties.owned, role.state().model], [true, 'local']);
    const [socket] = sockets();
    assert.equal(statSync(join(home, socket!)).mode & 0o777, 0o600);

    await scheduler.advance(OWNER_RENEW_MS);
    claims[1]!(true);
    await rest();
    assert.equal(locals.length, 1, 'a renewal begins nothing anew');

    await scheduler.advance(OWNER_RENEW_MS);
    claims[2]!(false);
    await rest();
    assert.deepEqual([duties.owned, role.state().model], [false, 'owner']);
    assert.equal(locals[0]!.closed, 1);
    assert.deepEqual(sockets(), []);

    await scheduler.advance(OWNER_RENEW_MS);
    claims[3]!(true);
    await rest();
    assert.equal(role.state().model, 'local');
    assert.equal(sockets().length, 1);
    await ownership.stop();
    assert.deepEqual(released, ['h']);
    await duties.close();
    assert.deepEqual([locals.length, locals[1]!.closed], [2, 1]);
    assert.deepEqual(sockets(), []);
  });

  it('do not begin when a claim is granted after the close', async () => {
    const { claims, locals, role, duties, sockets, startOwnership, rest } = fixture();
    await startOwnership();
    await duties.close();
    claims[0]!(true);
    await rest();
    assert.equal(role.state().model, 'owner');
    assert.deepEqual(
      locals.map((local) => local.closed).filter((closed) => closed === 0),
      [],
    );
    assert.deepEqual(sockets(), []);
  });

  it('leave no socket when they end while it is being opened', async () => {
    const { claims, duties, sockets, startOwnership, rest } = fixture();
    await startOwnership();
    claims[0]!(true);
    for (let turn = 0; !duties.owned; turn += 1) {
      assert.ok(turn < 10_000, 'the claim was granted and the database is still not owned');
      await Promise.resolve();
    }
    await duties.close();
    await rest();
    assert.deepEqual(sockets(), []);
  });

  it('have ended only when a socket that was being opened is closed', async () => {
    const told: string[] = [];
    let open = () => {};
    const { claims, duties, locals, startOwnership, rest } = fixture({
      open: () => new Promise<void>((resolve) => (open = resolve)),
      drain: () => Promise.resolve(),
      close: async () => void told.push('socket closed'),
    } as Pick<LocalSocket, 'open' | 'drain' | 'close'> as LocalSocket);
    await startOwnership();
    claims[0]!(true);
    await rest();
    assert.equal(locals.length, 1);
    const ended = duties.close().then(() => told.push('ended'));
    await rest();
    assert.deepEqual(told, ['socket closed'], 'there was none yet');
    open();
    await ended;
    assert.deepEqual(told, ['socket closed', 'socket closed', 'ended']);
  });
});
