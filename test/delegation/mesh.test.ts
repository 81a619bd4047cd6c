import assert from 'node:assert/strict';
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { loadMachineIdentity } from '../../node/identity/machine-key.js';
import { systemRandom } from '../../node/seams.js';
import {
  type DaemonProcess,
  freePort,
  startDaemonProcess,
  temporaryFolder,
} from '../support/daemon-process.js';
import { untilAnswer } from '../support/wait.js';
import { run } from '../surface/cli/cli-process.js';
import { bearer, HELPER, type Json, KEY, LEAD, narrowed, nowS, send, withKey } from './tokens-of-a-node.js';

interface Node {
  readonly home: string;
  readonly port: number;
  readonly peerId: string;
  daemon: DaemonProcess | null;
}

async function node(): Promise<Node> {
  const home = temporaryFolder('token-mesh');
  const { peerId } = loadMachineIdentity(join(home, 'keys'), systemRandom);
  return { home, port: await freePort(), peerId, daemon: null };
}

const keyAt = ({ home }: Node, { peerId }: Node) => join(home, 'keys', `${peerId}.pub`);
const enrol = (at: Node, peer: Node) => copyFileSync(join(peer.home, 'keys', 'daemon.pub'), keyAt(at, peer));

async function start(at: Node, peer: Node, extra: Record<string, string> = {}): Promise<void> {
  const flags = ['--quorum-peers', `http://127.0.0.1:${peer.port}`, '--catchup-interval-secs', '1'];
  at.daemon = await startDaemonProcess(at.home, at.port, { SVC_API_KEY: KEY, ...extra }, flags);
}

async function stop(at: Node): Promise<void> {
  await at.daemon?.end('SIGTERM');
  at.daemon = null;
}

const call = (at: Node, method: string, path: string, headers: readonly string[], body?: unknown) =>
  send(`http://127.0.0.1:${at.port}/api/v1${path}`, method, headers, body);
const listed = (at: Node, token: string) => call(at, 'GET', '/memories', bearer(token));
const codeOf = async (at: Node, token: string) => (await listed(at, token)).json['code'] ?? 'OK';
const until = (what: string, at: Node, token: string, code: string) =>
  untilAnswer(
    what,
    () => codeOf(at, token),
    (found) => found === code,
    { withinMs: 60_000 },
  );
const ADMIN = { SVC_ADMIN_AGENT_IDS: LEAD };

describe('tokens on two nodes', { timeout: 240_000 }, () => {
  let one: Node;
  let two: Node;
  const tokens: Record<string, string> = {};
  const mint = async (body: Json) => {
    const minted = await call(one, 'POST', '/tokens', withKey(), { for_agent: HELPER, ...body });
    assert.equal(minted.status, 201, minted.text);
    return String(minted.json['token']);
  };
  before(async () => {
    [one, two] = [await node(), await node()];
    enrol(one, two);
    enrol(two, one);
    await Promise.all([start(one, two, ADMIN), start(two, one)]);
    const operations = ['read', 'write'];
    tokens['team'] = await mint({ namespaces: ['team/**'], operations });
    tokens['other'] = await mint({ namespaces: ['team/**'] });
    tokens['admin'] = await mint({ namespaces: ['**'], operations: ['read', 'admin'], for_agent: LEAD });
    for (const namespace of ['team/alpha', 'secret']) {
      const note = { namespace, title: `of ${namespace}`, content: 'a note' };
      assert.equal((await call(one, 'POST', '/memories', withKey(HELPER), note)).status, 201);
    }
    await until('the other node knows the root', two, tokens['team'], 'OK');
    const both = async () => (await call(two, 'GET', '/memories', withKey())).json['count'];
    await untilAnswer('the other node has both notes', both, (count) => count === 2, { withinMs: 60_000 });
  });
  after(() => Promise.all([stop(one), stop(two)]));

  it('count on the node that did not mint them, while that is away', async () => {
    await stop(one);
    const found = await listed(two, tokens['team']!);
    assert.deepEqual(
      (found.json['memories'] as Json[]).map(({ namespace }) => namespace),
      ['team/alpha'],
    );
    const note = { namespace: 'team/beta', title: 'offline', content: 'written while the node was away' };
    assert.equal((await call(two, 'POST', '/memories', bearer(tokens['team']!), note)).status, 201);
    const less = await narrowed(tokens['team']!, { namespaces: ['team/beta'], operations: ['read'] });
    assert.equal((await listed(two, less)).json['count'], 1);
    assert.equal((await call(two, 'POST', '/memories', bearer(less), note)).json['code'], 'TOKEN_SCOPE');
    const elsewhere = { ...note, namespace: 'secret' };
    assert.equal(
      (await call(two, 'POST', '/memories', bearer(tokens['team']!), elsewhere)).json['code'],
      'TOKEN_SCOPE',
    );
    assert.equal(
      await codeOf(two, await narrowed(tokens['team']!, { expiresS: nowS() - 1 })),
      'TOKEN_EXPIRED',
    );
  });

  it('make no admin on a node where their agent is none', async () => {
    const { status, json } = await call(two, 'GET', '/stats', bearer(tokens['admin']!));
    assert.deepEqual([status, json['code']], [403, 'ADMIN_REQUIRED']);
  });

  it('are verified by the home of the other node, and under the root alone without a home', async () => {
    const env = { TOKEN: tokens['team']! };
    const here = await run(two.home, ['token', 'verify', 'env:TOKEN', '--json'], { env });
    assert.equal(here.code, 0, here.err + here.out);
    const { root, agent_id } = JSON.parse(here.out) as Json;
    assert.equal(agent_id, HELPER);
    const nowhere = temporaryFolder('no-node');
    const alone = (key: string) => run(nowhere, ['token', 'verify', 'env:TOKEN', '--root', key], { env });
    const known = await alone(String(root));
    assert.equal(known.code, 0, known.err + known.out);
    assert.match((await alone('ab'.repeat(32))).err, /another key signed/);
    const unknown = await run(nowhere, ['token', 'verify', 'env:TOKEN'], { env });
    assert.match(unknown.err, /no node that this one knows/);
  });

  it('are revoked where the node that minted them is away, and there once it is back', async () => {
    const asked = { token: tokens['other'] };
    const ended = await call(two, 'POST', '/tokens/revoke', withKey(HELPER), asked);
    assert.equal(ended.status, 200, ended.text);
    assert.equal(await codeOf(two, tokens['other']!), 'TOKEN_REVOKED');
    await start(one, two, ADMIN);
    await until('the revocation came', one, tokens['other']!, 'TOKEN_REVOKED');
    assert.equal(
      await codeOf(one, await narrowed(tokens['other']!, { operations: ['read'] })),
      'TOKEN_REVOKED',
    );
    assert.equal(await codeOf(one, tokens['team']!), 'OK');
    const { out } = await run(one.home, ['token', 'list', '--json']);
    const states = (JSON.parse(out) as { tokens: Json[] }).tokens.map(({ state }) => state);
    assert.deepEqual([...states].sort(), ['revoked', 'valid', 'valid']);
  });

  it('of a node that is no member count nowhere else', async () => {
    await stop(two);
    rmSync(keyAt(two, one));
    two.daemon = await startDaemonProcess(two.home, two.port, { SVC_API_KEY: KEY });
    assert.equal(await codeOf(two, tokens['team']!), 'TOKEN_INVALID');
    assert.equal(await codeOf(one, tokens['team']!), 'OK');
    await stop(two);
    enrol(two, one);
    await start(two, one);
    await until('it is a member again', two, tokens['team']!, 'OK');
  });

  it('are minted with a key of the node, also where it has a copy of the keys of another one', async () => {
    const minted = async ({ home }: Node) => {
      const made = await run(home, ['token', 'mint', '--for', HELPER, '--namespaces', '**']);
      assert.equal(made.code, 0, made.err);
      return made.out.trim();
    };
    const key = (token: string) => token.slice(0, token.indexOf('.'));
    const first = key(await minted(one));
    const place = (at: Node) => join(at.home, 'keys', '+tokens.priv');
    copyFileSync(place(one), place(two));
    const own = await minted(two);
    assert.notEqual(key(own), first);
    assert.equal(key(await minted(one)), first);
    await until('the other node takes it', one, own, 'OK');
  });

  it('are no key of a node', async () => {
    const env = { SVC_API_KEY: tokens['team']! };
    const { code, err } = await run(temporaryFolder('token-as-key'), ['serve', '--port', '1'], { env });
    assert.notEqual(code, 0);
    assert.match(err, /api_key is an access token/);
    assert.ok(!err.includes(tokens['team']!.slice(50, 90)));
  });

  it('end on every node when the node takes its root away', async () => {
    const own = (await run(one.home, ['token', 'mint', '--for', HELPER, '--namespaces', '**'])).out.trim();
    await until('the other node takes it', two, own, 'OK');
    const gone = await run(one.home, ['token', 'revoke', '--all']);
    assert.match(gone.out, /revoked: every token of this node/);
    assert.equal(await codeOf(one, own), 'TOKEN_INVALID');
    await until('the other node hears of it', two, own, 'TOKEN_INVALID');
    const next = (await run(one.home, ['token', 'mint', '--for', HELPER, '--namespaces', '**'])).out.trim();
    assert.equal(await codeOf(one, next), 'OK');
    await until('the other node knows the new root', two, next, 'OK');
  });

  it('minted with an API key are void with another one; those of the operator are not', async () => {
    const made = await run(one.home, ['token', 'mint', '--for', HELPER, '--namespaces', 'team/**']);
    assert.equal(made.code, 0, made.err);
    const own = made.out.trim();
    const keyed = await mint({ namespaces: ['team/**'] });
    assert.deepEqual([await codeOf(one, own), await codeOf(one, keyed)], ['OK', 'OK']);
    await stop(one);
    await start(one, two, { ...ADMIN, SVC_API_KEY: 'another key' });
    assert.equal(await codeOf(one, keyed), 'TOKEN_REVOKED');
    assert.equal(await codeOf(one, own), 'OK');
  });
});
