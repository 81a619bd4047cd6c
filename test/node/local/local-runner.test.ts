import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import type { Settings } from '../../../node/config/settings.js';
import { databaseName } from '../../../node/config/store-url.js';
import { installSeed } from '../../../node/identity/key-files.js';
import { LocalRunner } from '../../../node/local/local-runner.js';
import { LocalSurface } from '../../../node/local/local-surface.js';
import { memoryGet } from '../../../node/operations/core/memory-get.js';
import { memoryStore } from '../../../node/operations/core/memory-store.js';
import { memoryUpdate } from '../../../node/operations/lifecycle/memory-update.js';
import { OPERATIONS } from '../../../node/operations/registry.js';
import type { Operation } from '../../../node/pipeline/operation.js';
import { SocketNames } from '../../../node/private-socket.js';
import { type InlineNode, openInlineNode } from '../../../node/runtime/inline-node.js';
import { systemCrypto, systemRandom, systemScheduler } from '../../../node/seams.js';
import {
  LOCAL_HUNG_REST_MS,
  LOCAL_LINE_BYTES_MAX,
  LOCAL_PROBE_MS,
  LOCAL_TRIES_MAX,
} from '../../../protocol/base/limits.js';
import type { Store } from '../../../storage/port.js';
import { recordingLog } from '../../storage/vectors/real-seams.js';
import { bindKey } from '../../support/agents.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { OPERATOR } from '../../support/memories.js';
import { agentKey } from '../../support/signing.js';
import { until } from '../../support/wait.js';
import { BesideDatabase, settingsFor } from '../runtime/support.js';
import { FakeDaemon } from './fake-daemon.js';

const caller = {
  agentId: 'ai:me',
  claimed: 'explicit',
  viewer: OPERATOR,
  admin: false,
  local: true,
} as const;

/** A runner on a fresh home, the node that its daemons work on, and how often the runner had a node of its own. */
class Scene {
  readonly settings: Settings = settingsFor(temporaryFolder('runner'));
  readonly runner: LocalRunner;
  readonly own = { opened: 0, closed: 0 };
  /** Commands of the runner's own node wait for it. */
  gate: Promise<void> = Promise.resolve();
  /** Whether the runner's own node owns the database. */
  owns = false;
  /** How far the clock goes on at each look. */
  tickMs = 0;
  private skippedMs = 0;
  private readonly ends: (() => Promise<unknown>)[] = [];
  private node: InlineNode | null = null;

  constructor() {
    this.runner = new LocalRunner({
      settings: this.settings,
      prepareNode: () => Promise.resolve(),
      openNode: async () => {
        this.own.opened += 1;
        const node = await openInlineNode(this.settings, 'cli');
        return {
          owns: () => this.owns,
          services: { ...node.services, store: this.gated(node.services.store) },
          close: async () => {
            this.own.closed += 1;
            await node.close();
          },
        };
      },
      clock: {
        nowMs: () => Date.now(),
        monotonicMs: () => {
          this.skippedMs += this.tickMs;
          return performance.now() + this.skippedMs;
        },
      },
      scheduler: systemScheduler,
      random: systemRandom,
      crypto: systemCrypto,
    });
    this.ends.push(() => this.runner.close());
  }

  private gated(store: Store): Store {
    return {
      execute: async (command, options) => {
        await this.gate;
        return store.execute(command, options);
      },
      query: (query, options) => store.query(query, options),
      selfCheck: (cursor, options) => store.selfCheck(cursor, options),
      close: () => store.close(),
    };
  }

  /** The next call looks for a daemon. */
  later(ms = LOCAL_PROBE_MS): void {
    this.skippedMs += ms;
  }

  /** Of the node that the daemons of the scene work on. */
  async services() {
    this.node ??= await openInlineNode(this.settings, 'cli');
    return this.node.services;
  }

  async fake(holder?: string): Promise<FakeDaemon> {
    const fake = await FakeDaemon.listen(this.settings, await this.services(), holder);
    this.ends.push(() => fake.die());
    return fake;
  }

  /** The product's own surface of a daemon. */
  async surface(): Promise<LocalSurface> {
    const path = new SocketNames(this.settings.home, databaseName(this.settings), systemCrypto).pathOf(
      'daemon:surface',
    );
    const parts = {
      services: await this.services(),
      operations: OPERATIONS,
      log: recordingLog(),
      scheduler: systemScheduler,
    };
    const surface = await LocalSurface.listen(path, parts);
    this.ends.push(() => surface.close());
    return surface;
  }

  run(operation: Operation, input: Record<string, unknown>) {
    const request = { surface: 'cli', caller, input, unknownFields: 'refuse' } as const;
    return this.runner.run(operation, request);
  }

  store(title: string, rest: Record<string, unknown> = {}) {
    return this.run(memoryStore, { title, content: `of ${title}`, ...rest });
  }

  /** The id of a memory that is stored beside the runner's daemon or node. */
  async stored(title: string): Promise<string> {
    const answer = await this.store(title);
    assert.ok(answer.ok, JSON.stringify(answer));
    return String(answer.value['id']);
  }

  async content(id: string): Promise<unknown> {
    const services = await this.services();
    const query = { kind: 'get-memory', id, viewer: OPERATOR, now: new Date().toISOString() } as const;
    const found = await services.store.query(query);
    return found.ok ? found.value.memory.content : found.error.code;
  }

  rows(id: string): number {
    const beside = new BesideDatabase(this.settings.home);
    try {
      return beside.count('memories', id);
    } finally {
      beside.close();
    }
  }

  async titles(): Promise<string[]> {
    const answer = await this.run(OPERATIONS.find(({ name }) => name === 'memory_list')!, {});
    assert.ok(answer.ok, JSON.stringify(answer));
    return (answer.value['memories'] as { title: string }[]).map(({ title }) => title).sort();
  }

  async end(): Promise<void> {
    for (const end of this.ends.splice(0)) await end();
    await this.node?.close();
  }
}

let scene: Scene;
const start = () => {
  scene = new Scene();
  return scene;
};
afterEach(() => scene.end());

const codeOf = (answer: { readonly ok: boolean; readonly error?: { readonly code: string } }) =>
  answer.ok ? 'ok' : answer.error?.code;

describe('local calls move between the daemon and this process', () => {
  it('to a daemon that appears, and back when it ends in good order', async () => {
    const { own, runner } = start();
    await runner.open();
    await scene.stored('alone');
    assert.deepEqual(own, { opened: 1, closed: 0 });

    const surface = await scene.surface();
    scene.later();
    await scene.stored('by the daemon');
    assert.deepEqual(own, { opened: 1, closed: 1 }, 'the daemon has the database to itself');

    await surface.drain();
    await scene.stored('while it ends');
    scene.later();
    await scene.stored('while it still ends');
    assert.deepEqual(own, { opened: 2, closed: 1 }, 'a daemon that ends is not gone back to');
    await surface.close();
    assert.deepEqual(await scene.titles(), [
      'alone',
      'by the daemon',
      'while it ends',
      'while it still ends',
    ]);
  });

  it('to the next daemon at once when the first was killed between two calls', async () => {
    const { own } = start();
    const first = await scene.fake('daemon:first');
    await scene.stored('one');
    await first.die();
    const second = await scene.fake('daemon:second');
    scene.later();
    await scene.stored('two');
    assert.deepEqual([first.calls.length, second.calls.length, own.opened], [1, 1, 0]);
  });

  it('to the MCP server that owns the database, and from it to a daemon', async () => {
    const { own, runner } = start();
    await runner.open();
    const owner = await scene.fake('mcp:owner');
    scene.later();
    await scene.stored('one');
    assert.deepEqual([owner.calls.length, own], [1, { opened: 1, closed: 1 }]);
    const daemon = await scene.fake();
    owner.fates.push('refuse');
    scene.later();
    await scene.stored('two');
    assert.deepEqual([daemon.calls.length, own.opened], [1, 1]);
  });

  it('but not from a node that owns the database to its own socket', async () => {
    const { own, runner } = start();
    await runner.open();
    scene.owns = true;
    const itself = await scene.fake('mcp:itself');
    scene.later();
    await scene.stored('one');
    assert.deepEqual([itself.greetings, own], [0, { opened: 1, closed: 0 }]);
  });

  it('to an own node as soon as the MCP server that served them was killed', async () => {
    const { own } = start();
    const owner = await scene.fake('mcp:owner');
    await scene.stored('one');
    await owner.die();
    await until('the own node is open', () => own.opened === 1);
    await scene.stored('two');
    assert.deepEqual([own, await scene.titles()], [{ opened: 1, closed: 0 }, ['one', 'two']]);
  });

  it('only once for calls that look for the daemon together', async () => {
    const { own } = start();
    const fake = await scene.fake();
    const answers = await Promise.all(['one', 'two', 'three'].map((title) => scene.store(title)));
    assert.deepEqual(answers.map(codeOf), ['ok', 'ok', 'ok']);
    assert.deepEqual([fake.greetings, fake.calls.length, own.opened], [1, 3, 0]);
  });

  it('and the own node closes after its last call', async () => {
    const { own } = start();
    await scene.stored('before');
    let release!: () => void;
    scene.gate = new Promise((resolve) => {
      release = resolve;
    });
    const here = scene.store('here');
    const fake = await scene.fake();
    scene.later();
    const there = scene.store('there');
    await until('the daemon is found', () => fake.greetings === 1);
    assert.equal(own.closed, 0);
    release();
    assert.deepEqual([codeOf(await here), codeOf(await there)], ['ok', 'ok']);
    assert.deepEqual([fake.calls.length, own.opened, own.closed], [1, 1, 1]);
  });

  it('and a daemon that refuses further calls still answers those it took', async () => {
    start();
    const fake = await scene.fake();
    const id = await scene.stored('row');
    fake.fates.push('hold', 'refuse');
    const update = scene.run(memoryUpdate, { id, content: 'changed' });
    await until('the update is under way', () => fake.holds === 1);
    assert.equal(codeOf(await scene.store('elsewhere')), 'ok');
    await fake.release();
    assert.equal(codeOf(await update), 'ok');
    assert.equal(await scene.content(id), 'changed');
    await until('the connection is closed then', () => fake.connections === 0);
  });

  it('and a call that is lost late does not cost the others their new daemon', async () => {
    start();
    const first = await scene.fake('daemon:first');
    await scene.stored('row');
    first.fates.push('hold', 'refuse');
    const late = scene.store('late');
    await until('it is under way', () => first.holds === 1);
    const second = await scene.fake('daemon:second');
    first.manner = 'refuses';
    scene.later();
    await scene.stored('at the second');
    scene.later();
    await first.die();
    assert.equal(codeOf(await late), 'ok');
    await scene.stored('at the second too');
    assert.deepEqual([second.greetings, second.connections, second.calls.length], [1, 1, 3]);
  });
});

describe('a daemon that hangs', () => {
  it('delays one call, and is not asked again for a while', async () => {
    const { own } = start();
    const fake = await scene.fake();
    fake.manner = 'hangs';
    await scene.stored('one');
    scene.later();
    await scene.stored('two');
    assert.deepEqual([fake.greetings, own.opened], [1, 1]);
    fake.manner = 'greets';
    scene.later(LOCAL_HUNG_REST_MS);
    await scene.stored('three');
    assert.deepEqual([fake.greetings, fake.calls.length, own.closed], [2, 1, 1]);
  });
});

for (const fate of ['before', 'after'] as const) {
  describe(`a daemon that is killed ${fate} the commit`, () => {
    it('costs a store nothing: it is run again under its key', async () => {
      const { own } = start();
      const fake = await scene.fake();
      fake.fates.push(fate);
      const id = await scene.stored('note');
      assert.deepEqual([own.opened, fake.calls.length], [1, 1]);
      assert.equal(scene.rows(id), 1);
      assert.deepEqual(await scene.titles(), ['note']);
    });

    it('costs a store nothing at the next daemon either', async () => {
      const { own } = start();
      const fake = await scene.fake();
      await scene.stored('first');
      scene.later();
      fake.fates.push(fate);
      const id = await scene.stored('note');
      assert.deepEqual([own.opened, fake.calls.length, fake.greetings], [0, 3, 2]);
      const [, one, two] = fake.calls;
      assert.deepEqual([one!.key === two!.key, one!.again, two!.again], [true, false, true]);
      assert.equal(scene.rows(id), 1);
    });

    it('makes no second row of a store that versions its title', async () => {
      start();
      const fake = await scene.fake();
      await scene.stored('note');
      fake.fates.push(fate);
      assert.equal(codeOf(await scene.store('note', { on_conflict: 'version' })), 'ok');
      assert.deepEqual(await scene.titles(), ['note', 'note (2)']);
    });

    it('leaves one signed row of a store that signs', async () => {
      const { settings } = start();
      const agent = agentKey(caller.agentId);
      const key = { keyDir: settings.keyDir, agentId: caller.agentId, force: false, nowMs: Date.now() };
      installSeed({ ...key, random: systemRandom }, agent.seed);
      await bindKey((await scene.services()).store, agent);
      const fake = await scene.fake();
      fake.fates.push(fate);
      const answer = await scene.store('signed', { sign: true });
      assert.ok(answer.ok, JSON.stringify(answer));
      const { metadata } = answer.value['memory'] as { metadata: Record<string, unknown> };
      assert.equal(metadata['attest_level'], 'agent_attested');
      assert.deepEqual(await scene.titles(), ['agent:ai:me', 'signed']);
    });

    it('leaves the outcome of a merge unknown, so that it is not merged twice', async () => {
      start();
      const fake = await scene.fake();
      const id = await scene.stored('row');
      fake.fates.push(fate);
      const merged = await scene.store('row', { content: 'more', on_conflict: 'merge' });
      assert.equal(codeOf(merged), 'ACTOR_RESTARTED');
      assert.equal(fake.calls.length, 2);
      assert.equal(String(await scene.content(id)).includes('more'), fate === 'after');
    });

    it('leaves the outcome of an update unknown, and answers a read', async () => {
      start();
      const fake = await scene.fake();
      const id = await scene.stored('row');
      fake.fates.push(fate);
      const update = await scene.run(memoryUpdate, { id, content: 'changed' });
      assert.equal(codeOf(update), 'ACTOR_RESTARTED');
      assert.equal(await scene.content(id), fate === 'before' ? 'of row' : 'changed');
      scene.later();
      fake.fates.push(fate);
      const read = await scene.run(memoryGet, { id });
      assert.equal(codeOf(read), 'ok');
    });
  });
}

describe('a call that the daemon cannot answer', () => {
  it('is not sent again when several daemons ended by it', async () => {
    const { own } = start();
    const fake = await scene.fake();
    const id = await scene.stored('row');
    fake.fates.push(...Array(10).fill('before'));
    // Each time a new daemon is there at once.
    scene.tickMs = LOCAL_PROBE_MS;
    assert.equal(codeOf(await scene.run(memoryGet, { id })), 'ACTOR_RESTARTED');
    assert.deepEqual([own.opened, fake.calls.length], [0, 1 + LOCAL_TRIES_MAX]);
  });

  it('is refused when it is longer than a line may be; the connection and the daemon stay', async () => {
    const { own } = start();
    const fake = await scene.fake();
    await scene.stored('short');
    const answer = await scene.store('long', { content: 'a'.repeat(LOCAL_LINE_BYTES_MAX) });
    assert.equal(codeOf(answer), 'VALIDATION_FAILED');
    await scene.stored('short again');
    assert.deepEqual([fake.calls.length, fake.greetings, own.opened], [2, 1, 0]);
  });
});
