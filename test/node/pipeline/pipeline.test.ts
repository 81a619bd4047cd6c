import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { FULL_PROFILE } from '../../../node/config/tool-profile.js';
import type { Call, Services } from '../../../node/pipeline/call.js';
import { defineOperation, type Operation } from '../../../node/pipeline/operation.js';
import { type Request, runOperation } from '../../../node/pipeline/pipeline.js';
import { fail, ok } from '../../../protocol/base/result.js';
import { aCaller, anOperation, someServices } from './operations.js';

const NOW_MS = Date.parse('2026-07-28T12:00:00.000Z');

function fixture() {
  const errors: { fields: Record<string, unknown>; message: string }[] = [];
  const quiet = () => assert.fail('only errors are logged');
  const services: Services = someServices({
    clock: { nowMs: () => NOW_MS, monotonicMs: () => 0 },
    settings: { requireAttestation: true } as never,
    machineKey: null,
    log: {
      debug: quiet,
      info: quiet,
      warn: quiet,
      error: (fields, message) => void errors.push({ fields, message }),
    },
  });
  const run = (operation: Operation, request: Partial<Request> = {}) =>
    runOperation(
      operation,
      { surface: 'http', caller: aCaller(), input: {}, unknownFields: 'refuse', ...request },
      services,
    );
  return { errors, services, run };
}

/** An operation that must not be reached. */
const unreached = (parts: Parameters<typeof anOperation>[0]) =>
  anOperation({ ...parts, run: () => assert.fail('the operation ran') });

describe('a bug in an operation', () => {
  const SECRET = 'SELECT secret FROM /home/someone';
  const bugs: readonly (readonly [string, Operation['run']])[] = [
    [
      'that throws',
      () => {
        throw new Error(SECRET);
      },
    ],
    ['that rejects', () => Promise.reject(new TypeError(SECRET))],
    [
      'that throws what is no error',
      () => {
        throw SECRET;
      },
    ],
    ['that answers nothing', () => Promise.resolve(undefined as never)],
  ];

  for (const [name, run] of bugs) {
    it(`${name} is INTERNAL with hidden text, and is logged with its cause`, async () => {
      const { errors, run: call } = fixture();
      const answer = await call(anOperation({ run }));
      assert.deepEqual(answer, { ok: false, error: { code: 'INTERNAL', message: 'internal server error' } });
      assert.equal(errors.length, 1);
      assert.equal(errors[0]!.fields['operation'], 'memory_try');
      assert.ok(errors[0]!.fields['err'] !== undefined);
    });
  }

  it('in a schema is hidden too', async () => {
    const { errors, run } = fixture();
    const input = z.object({
      field: z.string().transform(() => {
        throw new Error(SECRET);
      }),
    });
    const answer = await run(unreached({ input }), { input: { field: 'x' } });
    assert.equal(!answer.ok && answer.error.message, 'internal server error');
    assert.equal(errors.length, 1);
  });
});

describe('a call', () => {
  it('answers what the operation answers, failures with their details', async () => {
    const { errors, run } = fixture();
    assert.deepEqual(await run(anOperation({ run: () => Promise.resolve(ok({ a: 1 })) })), {
      ok: true,
      value: { a: 1 },
    });
    const failing = anOperation({
      run: () => Promise.resolve(fail('CONFLICT', 'taken', { existing_id: 'x' })),
    });
    assert.deepEqual(await run(failing), {
      ok: false,
      error: { code: 'CONFLICT', message: 'taken', details: { existing_id: 'x' } },
    });
    assert.deepEqual(errors, [], 'an expected failure is no bug');
  });

  it('hands the operation its parsed input, one instant, the caller and the profile', async () => {
    const { run, services } = fixture();
    const seen: { call: Call; input: unknown }[] = [];
    const operation = anOperation({
      input: z.object({ n: z.int().default(3) }),
      run: (call, input) => {
        seen.push({ call, input });
        return Promise.resolve(ok({}));
      },
    });
    const caller = aCaller();
    const progress = () => undefined;
    await run(operation, { surface: 'mcp', profile: ['core'], caller, progress });
    assert.deepEqual(seen[0], {
      call: {
        surface: 'mcp',
        caller,
        again: false,
        attestation: { level: 'claimed', signer: null, signature: null, envelope: null },
        nowMs: NOW_MS,
        now: '2026-07-28T12:00:00.000Z',
        // The store puts aside what needs an approval.
        services: {
          ...services,
          store: seen[0]!.call.services.store,
          tokens: services.tokens,
          random: services.random,
          replication: undefined,
          tracing: undefined,
        },
        profile: ['core'],
        progress,
      },
      input: { n: 3 },
    });
    await run(operation);
    assert.deepEqual(seen[1]?.call.profile, FULL_PROFILE);
  });
});

describe('an operation that reads', () => {
  const reading = (run: Operation<z.ZodObject, z.ZodType, 'read'>['run']) =>
    defineOperation({
      name: 'memory_look',
      family: 'other',
      summary: 'Look.',
      input: z.object({}),
      output: z.looseObject({}),
      effect: 'read',
      guards: {},
      run: run as never,
    });

  it('gets a store that answers and cannot write, neither by its type nor while it runs', async () => {
    const { run, services } = fixture();
    const store = {
      query: () => Promise.resolve(ok(7)),
      execute: () => assert.fail('a read wrote'),
      close: () => assert.fail('a read closed the store'),
    };
    Object.assign(services, { store, replication: {} });
    const answer = await run(
      reading(async (call) => {
        const found = await call.services.store.query({ kind: 'namespace-ids' } as never);
        // @ts-expect-error A read has no store that takes commands.
        const { execute } = call.services.store;
        return ok({
          found,
          members: [execute, Object.keys(call.services.store), (call.services as Services).replication],
        });
      }),
    );
    assert.deepEqual(answer, ok({ found: ok(7), members: [undefined, ['query'], undefined] }));
  });
});

describe('the gates', () => {
  it('stand in their order: admin, input, attestation', async () => {
    const { run } = fixture();
    const operation = unreached({
      input: z.object({ title: z.string() }),
      guards: { admin: true, attestation: 'required' },
    });
    const codeOf = async (request: Partial<Request>) => {
      const answer = await run(operation, request);
      return answer.ok ? 'ok' : answer.error.code;
    };
    const caller = aCaller({ admin: true });
    assert.equal(await codeOf({}), 'ADMIN_REQUIRED');
    assert.equal(await codeOf({ input: { title: 't', x: 1 } }), 'ADMIN_REQUIRED');
    assert.equal(await codeOf({ caller }), 'VALIDATION_FAILED');
    assert.equal(await codeOf({ caller, input: { title: 't', x: 1 } }), 'UNKNOWN_FIELD');
    assert.equal(await codeOf({ caller, input: { title: 't' } }), 'ATTESTATION_FAILED');
  });

  it('ask for an admin over HTTP alone', async () => {
    const { run } = fixture();
    const operation = anOperation({ guards: { admin: true } });
    assert.equal((await run(operation)).ok, false);
    assert.equal((await run(operation, { caller: aCaller({ admin: true }) })).ok, true);
    for (const surface of ['mcp', 'cli'] as const)
      assert.equal((await run(operation, { surface })).ok, true, surface);
  });

  it('tolerate unknown fields where the surface does', async () => {
    const { run } = fixture();
    const answer = await run(anOperation({}), { input: { x: 1 }, unknownFields: 'ignore' });
    assert.equal(answer.ok, true);
  });
});
