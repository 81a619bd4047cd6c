import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Secret } from '../../../node/config/secret.js';
import { approvalSignatures } from '../../../node/http/approval-signature.js';
import { systemCrypto } from '../../../node/seams.js';
import { PROJECT } from '../../architecture/source-files.js';
import { startDaemonProcess, temporaryFolder } from '../../support/daemon-process.js';
import { APPROVER, GovernedDaemon, REQUESTER, type Reply } from '../../support/governed-daemon.js';
import { signDecision, type ToSign } from '../../support/sign-decision.js';
import { run } from '../cli/cli-process.js';

const SECRET = '00ff17c0ffee'.repeat(3);
const APPROVE = '{"decision":"approve"}';
const NO_SUCH = '5b1f2c3d-0000-4000-8000-000000000000';
const now = () => Math.floor(Date.now() / 1000);

let node: GovernedDaemon;
before(async () => {
  node = await GovernedDaemon.start({ SVC_CONFIG: configured(SECRET) }, startDaemonProcess);
});
after(() => node.end());

function configured(secret: string): string {
  const path = join(temporaryFolder('secret'), 'config.toml');
  writeFileSync(path, `[hooks.subscription]\nhmac_secret = "${secret}"\n`, { mode: 0o600 });
  return path;
}

const post = (id: string, body: string, headers: Record<string, string>, agent = APPROVER): Promise<Reply> =>
  node.call(agent, 'POST', `/approvals/${id}`, body, headers);
const signed = (pendingId: string, body = APPROVE, more: Partial<ToSign> = {}) =>
  signDecision({ secret: SECRET, pendingId, body, ...more });

/** Every refusal is the same, so that it says nothing of the signature that would be right. */
function isRefused({ status, body }: Reply): void {
  assert.equal(status, 401, JSON.stringify(body));
  const { hint, ...rest } = body;
  assert.deepEqual(rest, { error: 'invalid or missing X-SVC-Signature', code: 'UNAUTHORIZED' });
  assert.match(String(hint), /X-SVC-Timestamp/);
}

describe('a signed decision', () => {
  it('approves and executes the action, and says how long it is remembered', async () => {
    const id = await node.request('signed');
    const { status, body } = await post(id, APPROVE, signed(id));
    assert.equal(status, 200, JSON.stringify(body));
    const { memory_id: memoryId, ...rest } = body;
    const expected = { approved: true, id, decided_by: APPROVER, executed: true, remember: 'once' };
    assert.deepEqual(rest, expected);
    const read = await node.call(REQUESTER, 'GET', `/memories/${memoryId}`);
    assert.equal(read.status, 200);
  });

  it('denies the action, with white space and the remembering that were signed', async () => {
    const id = await node.request('to deny', 'ai:other');
    const body = '{ "decision": "deny",\n "remember": "session" }';
    const answer = await post(id, body, signed(id, body));
    assert.deepEqual(answer, {
      status: 200,
      body: { rejected: true, id, decided_by: APPROVER, remember: 'session' },
    });
  });

  it('answers 202 while votes are collected', async () => {
    const governance = { write: 'approve', approver: { consensus: 2 } };
    const set = await node.call('ai:owner', 'POST', '/namespaces/two/standard', { governance });
    assert.equal(set.status, 201);
    const id = await node.request('by two', REQUESTER, 'two');
    const { status, body } = await post(id, APPROVE, signed(id));
    assert.equal(status, 202, JSON.stringify(body));
    const { reason: _reason, ...rest } = body;
    assert.deepEqual(rest, {
      approved: false,
      status: 'pending',
      id,
      votes: 1,
      quorum: 2,
      remember: 'once',
    });
  });

  it('answers what is wrong with the action when the signature is right', async () => {
    const unknown = await post(NO_SUCH, APPROVE, signed(NO_SUCH));
    assert.deepEqual([unknown.status, unknown.body['code']], [404, 'PENDING_ACTION_NOT_FOUND']);
    const id = await node.request('own');
    const own = await post(id, APPROVE, signed(id), REQUESTER);
    assert.deepEqual([own.status, own.body['code']], [403, 'GOVERNANCE_REFUSED']);
    const denial = '{"decision":"deny"}';
    assert.equal((await post(id, denial, signed(id, denial))).status, 200);
    // The same decision in the same second would have the same signature.
    const late = await post(id, APPROVE, signed(id, APPROVE, { timestamp: now() - 5 }));
    assert.deepEqual([late.status, late.body['code']], [409, 'PENDING_ACTION_STATE_INVALID']);
    const wrong = '{"decision":"maybe"}';
    assert.equal((await post(id, wrong, signed(id, wrong))).status, 400);
  });
});

describe('the signature of a decision', () => {
  let id: string;
  before(async () => {
    id = await node.request('kept pending');
  });
  after(async () => {
    const { body } = await node.call(REQUESTER, 'GET', '/pending?status=pending&limit=1000');
    const pending = body['pending'] as { id: string }[];
    assert.ok(
      pending.some((each) => each.id === id),
      'no refused request has decided the action',
    );
  });

  it('is needed', async () => {
    isRefused(await post(id, APPROVE, {}));
    const { 'x-svc-timestamp': timestamp, 'x-svc-signature': signature } = signed(id);
    isRefused(await post(id, APPROVE, { 'x-svc-timestamp': timestamp! }));
    isRefused(await post(id, APPROVE, { 'x-svc-signature': signature! }));
  });

  it('is refused when it is wrong, malformed, or made with another secret', async () => {
    const { 'x-svc-timestamp': timestamp, 'x-svc-signature': right } = signed(id);
    const hex = right!.slice(7);
    const flipped = (hex[0] === '0' ? '1' : '0') + hex.slice(1);
    const wrong = [
      `sha256=${flipped}`,
      `sha256=${hex.toUpperCase()}`,
      `sha256=${hex}00`,
      `sha256=${hex.slice(2)}`,
      hex,
      `sha512=${hex}`,
      `${right}, ${right}`,
      'sha256=',
      '',
    ];
    for (const signature of wrong) {
      isRefused(await post(id, APPROVE, { 'x-svc-timestamp': timestamp!, 'x-svc-signature': signature }));
    }
    isRefused(await post(id, APPROVE, signed(id, APPROVE, { secret: `${SECRET.slice(0, -1)}f` })));
    isRefused(await post(id, APPROVE, signed(id, APPROVE, { secret: '' })));
  });

  it('is refused when it is older than 300 s or more than 60 s ahead, or its time is no number', async () => {
    for (const timestamp of [now() - 303, now() + 70, 0, '1e9', '-5', `+${now()}`, ` ${now()}.0`, 'now']) {
      isRefused(await post(id, APPROVE, signed(id, APPROVE, { timestamp })));
    }
    for (const timestamp of [now() - 290, now() + 50]) {
      const accepted = await post(NO_SUCH, APPROVE, signed(NO_SUCH, APPROVE, { timestamp }));
      assert.equal(accepted.status, 404);
    }
  });

  it('is good for one action, one method and one body', async () => {
    const other = await node.request('another action');
    isRefused(await post(id, APPROVE, signed(other)));
    isRefused(await post(id, APPROVE, signed(id, APPROVE, { method: 'PUT' })));
    isRefused(await post(id, `${APPROVE} `, signed(id)));
    isRefused(await post(id, '{"decision":"approvE"}', signed(id)));
    isRefused(await post(id, '', signed(id)));
    const once = '{"decision":"approve","remember":"once"}';
    isRefused(await post(id, once.replace('once', 'forever'), signed(id, once)));
  });

  it('is good once, whatever the request came to', async () => {
    const headers = signed(NO_SUCH, APPROVE, { timestamp: now() - 20 });
    assert.equal((await post(NO_SUCH, APPROVE, headers)).status, 404);
    isRefused(await post(NO_SUCH, APPROVE, headers));
    const both = await Promise.all(
      [1, 2].map(() => post(NO_SUCH, APPROVE, signed(NO_SUCH, APPROVE, { timestamp: now() - 7 }))),
    );
    assert.deepEqual(both.map(({ status }) => status).sort(), [401, 404]);
  });

  it('is not needed at the other routes, and must be valid and of that action where it is sent', async () => {
    for (const [how, agent] of [
      ['approve', REQUESTER],
      ['reject', REQUESTER],
    ] as const) {
      const path = `/pending/${id}/${how}`;
      const decide = (headers: Record<string, string>) => node.call(agent, 'POST', path, '{}', headers);
      assert.equal((await decide({})).status, 403, 'the requester may not decide');
      isRefused(await decide({ 'x-svc-signature': 'sha256=00' }));
      isRefused(await decide({ 'x-svc-timestamp': String(now()) }));
      isRefused(await decide(signed(`${NO_SUCH}/${how}`, '{}')));
      isRefused(await decide(signed(`${id}/${how}`, '{} ')));
      assert.equal((await decide(signed(`${id}/${how}`, '{}'))).status, 403);
      // A signature is good for one of the routes only, although their bodies are equal.
      for (const other of [id, `${id}/${how === 'approve' ? 'reject' : 'approve'}`])
        isRefused(await decide(signed(other, '{}', { timestamp: now() - 100 })));
    }
  });
});

describe('the secret', () => {
  it('is needed: without one every signed decision is refused', async () => {
    const without = await GovernedDaemon.start();
    try {
      const id = await without.request('no secret');
      for (const secret of [SECRET, '', 'null', 'undefined']) {
        const headers = signDecision({ secret, pendingId: id, body: APPROVE });
        isRefused(await without.call(APPROVER, 'POST', `/approvals/${id}`, APPROVE, headers));
        isRefused(await without.call(APPROVER, 'POST', `/pending/${id}/approve`, APPROVE, headers));
      }
      await without.decide(id, 'approve');
    } finally {
      await without.end();
    }
  });

  it('refuses the start of the node when it is not hexadecimal, or too short', async () => {
    const home = temporaryFolder('bad-secret');
    for (const secret of ['not hexadecimal', '0ff', '0x00ff', '00', 'ff'.repeat(15)]) {
      const served = await run(home, ['serve', '--port', '0'], { env: { SVC_CONFIG: configured(secret) } });
      assert.equal(served.code, 78, served.err);
      assert.match(served.err, /hmac_secret.*(must be hexadecimal|at least 16 bytes)/);
    }
  });
});

describe('the memory of used signatures', () => {
  it('forgets those that are too old to be sent again, and refuses more than it can hold', () => {
    let nowMs = 1_900_000_000_000;
    const signatures = approvalSignatures(new Secret(SECRET), { nowMs: () => nowMs }, systemCrypto, 3);
    const decide = (pendingId: string, timestamp = Math.floor(nowMs / 1000)) => {
      const headers = signed(pendingId, '', { timestamp });
      const decision = { headers, method: 'POST', pendingId, body: new Uint8Array(0) };
      return signatures.problem(decision, true)?.code ?? 'taken';
    };
    const ahead = Math.floor(nowMs / 1000) + 60;
    assert.deepEqual([decide('a', ahead), decide('b'), decide('c')], ['taken', 'taken', 'taken']);
    assert.equal(decide('d'), 'OVERLOADED');
    nowMs += 360_000;
    assert.equal(decide('a', ahead), 'UNAUTHORIZED', 'still in its window, and remembered');
    nowMs += 1000;
    assert.equal(decide('a', ahead), 'UNAUTHORIZED', 'too old');
    assert.deepEqual([decide('d'), decide('d')], ['taken', 'UNAUTHORIZED']);
  });
});

describe('the example in docs/governance.md', () => {
  it('works as it is printed', async () => {
    const text = readFileSync(join(PROJECT, 'docs/governance.md'), 'utf8');
    const script = /```sh\n(SECRET=[\s\S]*?)```/.exec(text)![1]!;
    const id = await node.request('by curl');
    const own = script
      .replace(/^SECRET=.*$/m, `SECRET=${SECRET}`)
      .replace(/^ID=.*$/m, `ID=${id}`)
      .replace(/^NODE=.*$/m, `NODE=${node.base}`)
      .replace('ai:lead', APPROVER);
    const answer = JSON.parse(execFileSync('sh', ['-c', own], { encoding: 'utf8' })) as Record<
      string,
      unknown
    >;
    assert.equal(answer['approved'], true, JSON.stringify(answer));
  });
});
