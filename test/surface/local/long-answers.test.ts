import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { z } from 'zod';
import type { Settings } from '../../../node/config/settings.js';
import { databaseName } from '../../../node/config/store-url.js';
import { LocalRunner } from '../../../node/local/local-runner.js';
import { LocalSurface } from '../../../node/local/local-surface.js';
import { defineOperation, type Operation } from '../../../node/pipeline/operation.js';
import { SocketNames } from '../../../node/private-socket.js';
import { systemClock, systemCrypto, systemRandom, systemScheduler } from '../../../node/seams.js';
import {
  LOCAL_ANSWER_BYTES_MAX,
  LOCAL_LINE_BYTES_MAX,
  LOCAL_TRIES_MAX,
} from '../../../protocol/base/limits.js';
import { ok } from '../../../protocol/base/result.js';
import { openTestNode } from '../../support/test-node.js';
import { within } from '../../support/wait.js';

let runs = 0;
let lookedMs = 0;
const long = defineOperation({
  name: 'memory_long',
  family: 'core',
  summary: 'Answers a text of a length.',
  input: z.object({ length: z.int().default(0), text: z.string().optional() }),
  output: z.object({ text: z.string() }),
  effect: 'read',
  guards: {},
  run: async (_call, { length }) => {
    runs += 1;
    return ok({ text: 'x'.repeat(length) });
  },
}) as unknown as Operation;

describe('long lines on the local socket', () => {
  let node: Awaited<ReturnType<typeof openTestNode>>;
  let surface: LocalSurface;
  let runner: LocalRunner;

  before(async () => {
    node = await openTestNode();
    const { home } = node.services.settings;
    const settings: Settings = { ...node.services.settings, dbPath: join(home, 'mnemesh.db') };
    const path = new SocketNames(home, databaseName(settings), systemCrypto).pathOf('daemon:test');
    const { log } = node.services;
    const services = { ...node.services, settings };
    surface = await LocalSurface.listen(path, {
      services,
      operations: [long],
      log,
      scheduler: systemScheduler,
    });
    runner = new LocalRunner({
      settings,
      openNode: () => Promise.reject(new Error('the daemon serves this call')),
      // Each look is later than the wait before the next one.
      clock: { nowMs: () => systemClock.nowMs(), monotonicMs: () => (lookedMs += 1000) },
      scheduler: systemScheduler,
      random: systemRandom,
      crypto: systemCrypto,
    });
  });
  after(async () => {
    await runner.close();
    await surface.close();
    await node.close();
  });

  const run = (input: Record<string, unknown>) => {
    const caller = {
      agentId: 'ai:long',
      claimed: 'configured',
      viewer: { all: true, agentId: null, asNamespace: null },
      admin: false,
      local: true,
    } as const;
    return within(
      'the call is answered',
      runner.run(long, { surface: 'mcp', caller, input, unknownFields: 'ignore' }),
    );
  };

  it('brings an answer that is longer than a call may be', async () => {
    const answer = await run({ length: LOCAL_LINE_BYTES_MAX + 1 });
    assert.ok(answer.ok);
    assert.equal(String(answer.value['text']).length, LOCAL_LINE_BYTES_MAX + 1);
  });

  it('does not send a call that is too long, and says what is wrong with it first', async () => {
    const before = runs;
    const text = 'x'.repeat(LOCAL_LINE_BYTES_MAX);
    const codes = [await run({ text }), await run({ text, length: 'long' })].map((answer) =>
      answer.ok ? 'ok' : answer.error.code,
    );
    assert.deepEqual(codes, ['PAYLOAD_TOO_LARGE', 'VALIDATION_FAILED']);
    assert.equal(runs, before);
  });

  it('gives up a call whose answer never arrives', async () => {
    const before = runs;
    const answer = await run({ length: LOCAL_ANSWER_BYTES_MAX + 1 });
    assert.equal(answer.ok ? 'ok' : answer.error.code, 'ACTOR_RESTARTED');
    assert.equal(runs - before, LOCAL_TRIES_MAX);
  });
});
