import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Caller } from '../../../node/identity/caller.js';
import { attest } from '../../../node/pipeline/attest.js';
import type { Signer } from '../../../protocol/base/seams.js';
import { aCaller, anOperation, someServices } from './operations.js';

const NOW_MS = Date.parse('2026-07-28T12:00:00.000Z');
const at = (seconds: number) => new Date(NOW_MS + seconds * 1000).toISOString();
const KEY: Signer = { publicKey: new Uint8Array(32), sign: () => new Uint8Array(64) };
const SIGNATURE = Buffer.alloc(64).toString('base64');
/** A store in which no agent is registered. */
const NOBODY = { query: async () => ({ ok: true, value: { publicKey: null } }) } as never;
const guarded = anOperation({ guards: { attestation: 'required' } });

function judge(
  input: Record<string, unknown>,
  options: {
    readonly caller?: Partial<Caller>;
    readonly required?: boolean;
    readonly machineKey?: Signer | null;
    readonly operation?: typeof guarded;
  } = {},
) {
  const { caller, required = true, machineKey = KEY, operation = guarded } = options;
  const services = someServices({
    settings: { requireAttestation: required } as never,
    machineKey,
    store: NOBODY,
  });
  return attest(operation, input, aCaller(caller), NOW_MS, services);
}

const codeOf = (result: Awaited<ReturnType<typeof judge>>) =>
  result.ok ? result.value.level : result.error.code;

describe('rule 2: a signature without an RFC 3339 created_at', () => {
  it('is a validation error that names created_at', async () => {
    for (const created_at of [
      undefined,
      null,
      1_785_240_000,
      '',
      '2026-07-28',
      '2026-07-28T12:00:00',
      'now',
    ]) {
      const result = await judge({ signature: SIGNATURE, created_at });
      assert.ok(!result.ok);
      assert.equal(result.error.code, 'VALIDATION_FAILED', String(created_at));
      assert.deepEqual(result.error.details, { fields: ['created_at'] });
    }
  });
});

describe('rule 3: a created_at outside of 300 seconds', () => {
  const message = async (created_at: string) => {
    const result = await judge({ signature: SIGNATURE, created_at });
    assert.ok(!result.ok);
    assert.equal(result.error.code, 'ATTESTATION_FAILED');
    return result.error.message;
  };

  it('is refused on either side, to the millisecond', async () => {
    for (const seconds of [-300.001, 300.001, -86_400, 86_400])
      assert.match(await message(at(seconds)), /300 seconds/);
    for (const seconds of [-300, 300, 0]) assert.doesNotMatch(await message(at(seconds)), /300 seconds/);
  });

  it('is measured in any offset', async () => {
    assert.doesNotMatch(await message('2026-07-28T14:00:00+02:00'), /300 seconds/);
    assert.match(await message('2026-07-28T12:00:00+02:00'), /300 seconds/);
  });
});

describe('rules 4 and 6: a signature that no bound key verifies', () => {
  it('is ATTESTATION_FAILED, for every caller and whatever the operator permits', async () => {
    for (const local of [true, false]) {
      for (const required of [true, false]) {
        for (const signature of [SIGNATURE, '', 'garbage']) {
          const result = await judge({ signature, created_at: at(0) }, { caller: { local }, required });
          assert.equal(codeOf(result), 'ATTESTATION_FAILED');
        }
      }
    }
  });
});

describe('rule 5: an unsigned write', () => {
  it('over HTTP is refused unless the operator permits it, and then claimed', async () => {
    assert.equal(codeOf(await judge({})), 'ATTESTATION_FAILED');
    const permitted = await judge({}, { required: false });
    assert.deepEqual(permitted, {
      ok: true,
      value: { level: 'claimed', signer: null, signature: null, envelope: null },
    });
  });

  it('is not excused by a created_at', async () => {
    assert.equal(codeOf(await judge({ created_at: at(0) })), 'ATTESTATION_FAILED');
  });
});

describe('rule 7: a local write', () => {
  it('is signed with the machine’s key, required or not', async () => {
    for (const required of [true, false]) {
      const result = await judge({}, { caller: { local: true }, required });
      assert.ok(result.ok);
      assert.equal(result.value.level, 'agent_attested');
      assert.equal(result.value.signer, KEY);
    }
  });

  it('without a machine’s key is as good as one over HTTP', async () => {
    const caller = { local: true };
    assert.equal(codeOf(await judge({}, { caller, machineKey: null })), 'ATTESTATION_FAILED');
    assert.equal(codeOf(await judge({}, { caller, machineKey: null, required: false })), 'claimed');
  });
});

describe('an operation that asks for no attestation', () => {
  it('is claimed, for every caller', async () => {
    const operation = anOperation({});
    for (const local of [true, false]) {
      const result = await judge({ signature: SIGNATURE }, { operation, caller: { local } });
      assert.deepEqual(result, {
        ok: true,
        value: { level: 'claimed', signer: null, signature: null, envelope: null },
      });
    }
  });
});

describe('an operation without a signature', () => {
  const holder = (publicKey: string | null) =>
    ({ query: async () => ({ ok: true, value: { publicKey } }) }) as never;
  const code = async (
    guard: 'by-name' | 'by-key',
    options: { required?: boolean; everywhere?: boolean; local?: boolean; key?: string | null },
  ) => {
    const { required = true, everywhere = false, local = false, key = null } = options;
    const settings = { requireAttestation: required, requireAttestationEverywhere: everywhere } as never;
    const services = someServices({ settings, store: holder(key) });
    const operation = anOperation({ guards: { attestation: guard } });
    return codeOf(await attest(operation, {}, aCaller({ local }), NOW_MS, services));
  };

  it('is refused where the operator requires attestation by name, except to who runs the machine', async () => {
    assert.equal(await code('by-name', {}), 'claimed');
    assert.equal(await code('by-name', { everywhere: true }), 'ATTESTATION_FAILED');
    assert.equal(await code('by-name', { everywhere: true, local: true }), 'claimed');
    assert.equal(await code('by-key', { everywhere: true }), 'claimed', 'it changes no memories');
  });

  it('is refused in the name of an agent with a key, unless unsigned writes are permitted', async () => {
    const key = Buffer.from(KEY.publicKey).toString('base64');
    for (const guard of ['by-name', 'by-key'] as const) {
      assert.equal(await code(guard, { key }), 'ATTESTATION_FAILED');
      assert.equal(await code(guard, { key, required: false }), 'claimed');
      assert.equal(await code(guard, { key, local: true }), 'claimed');
    }
  });
});
