import assert from 'node:assert/strict';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { memoryBulk } from '../../../node/operations/core/memory-bulk.js';
import type { Services } from '../../../node/pipeline/call.js';
import { runOperation } from '../../../node/pipeline/pipeline.js';
import { CALLER, type Fields, type HookedNode, openHookedNode } from '../../support/hooked-node.js';
import { HookHome } from '../../support/hooks.js';

const nodes: HookedNode[] = [];
after(() => Promise.all(nodes.map((node) => node.close())));

async function open(home: HookHome): Promise<HookedNode> {
  const node = await openHookedNode(home);
  nodes.push(node);
  return node;
}

const ROWS = ['a', 'b', 'c', 'd', 'e'].map((title) => ({ title, content: `about ${title}` }));
const ASK = JSON.stringify({ action: 'ask_user', prompt: 'May it?', options: [], default: 'allow' });

/** A hook that counts its runs, which may overlap. */
function counting(home: HookHome, name: string, said = '') {
  const folder = join(home.home, name);
  mkdirSync(folder);
  const command = home.sh(
    'cat > /dev/null',
    `mktemp '${folder}/XXXXXX' > /dev/null`,
    `printf '%s' '${said}'`,
  );
  return { command, count: () => readdirSync(folder).length };
}

async function bulk(services: Services, memories: readonly Fields[], deadlineMs = Number.POSITIVE_INFINITY) {
  const answer = await runOperation(
    memoryBulk,
    { surface: 'http', caller: CALLER, input: { memories }, unknownFields: 'refuse', deadlineMs },
    services,
  );
  assert.ok(answer.ok, JSON.stringify(answer));
  return answer.value;
}

/** A guard that is fail-open, as guards are unless their file says otherwise, and takes its time. */
function slowGuard(home: HookHome, seconds: number) {
  const said = JSON.stringify({ action: 'deny', reason: 'it is forbidden' });
  home.register({
    event: 'pre_store',
    command: home.sh('cat > /dev/null', `sleep ${seconds}`, `printf '%s' '${said}'`),
    timeout_ms: 2000,
  });
}

describe('a guard that is kept busy', { timeout: 120_000 }, () => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ title: `note ${at}`, content: 'forbidden' }));

  it('lets no row of a long bulk pass, and answers each', async () => {
    const home = new HookHome();
    slowGuard(home, 0.15);
    const { services, run } = await open(home);
    const answer = await bulk(services, many(120));
    const codes = (answer['results'] as { code: string }[]).map(({ code }) => code);
    assert.deepEqual(new Set(codes), new Set(['HOOK_VETO']));
    assert.equal((await run('memory_list', {}))['count'], 0);
  });

  it('lets no call of many at the same time pass: those without a place are told that the node is busy', async () => {
    const home = new HookHome();
    slowGuard(home, 1.5);
    const { call, run } = await open(home);
    const answers = await Promise.all(many(60).map((note) => call('memory_store', note)));
    const codes = answers.map((answer) => (answer.ok ? 'stored' : answer.error.code));
    assert.deepEqual(new Set(codes), new Set(['HOOK_VETO', 'OVERLOADED']));
    assert.equal((await run('memory_list', {}))['count'], 0);
  });

  it('and fails by itself has no say, as its fail mode says', async () => {
    const home = new HookHome();
    home.register({ event: 'pre_store', command: home.sh('exit 3'), timeout_ms: 2000 });
    const { services } = await open(home);
    assert.equal((await bulk(services, many(12)))['created'], 12);
  });
});

describe('the rows of a bulk', { timeout: 120_000 }, () => {
  it('meet a governance hook once each', async () => {
    const home = new HookHome();
    const [before, told] = [counting(home, 'before', ASK), counting(home, 'told')];
    home.register(
      { event: 'pre_governance_decision', command: before.command, timeout_ms: 20_000 },
      { event: 'post_governance_decision', command: told.command, timeout_ms: 20_000 },
    );
    const node = await openHookedNode(home);
    assert.equal((await node.run('memory_store_bulk', { memories: ROWS }))['created'], 5);
    // The end of a node waits for what has happened to be told.
    await node.close();
    assert.deepEqual([before.count(), told.count()], [5, 5]);
  });

  it('reach the store in their order while a governance hook is slow', async () => {
    const home = new HookHome();
    const slow = home.sh('case $(cat) in *000001*) sleep 1.2 ;; *000002*) sleep 0.6 ;; esac');
    home.register({ event: 'pre_governance_decision', command: slow, timeout_ms: 20_000 });
    const node = await open(home);
    const memories = ['first', 'second', 'third'].map((content) => ({
      ...{ title: 'the same', content, on_conflict: 'merge' },
    }));
    let made = 0;
    const random = {
      ...node.services.random,
      uuid: () => {
        made += 1;
        return `00000000-0000-4000-8000-00000000000${made}`;
      },
    };
    const answer = await bulk({ ...node.services, random }, memories);
    const id = (answer['results'] as Fields[])[0]!['id'];
    assert.equal(id, '00000000-0000-4000-8000-000000000001');
    const { memory } = (await node.run('memory_get', { id })) as { memory: Fields };
    assert.deepEqual([memory['content'], memory['version']], ['third', 3]);
  });

  it('have the deadline of their request', async () => {
    const home = new HookHome();
    home.register({
      ...{ event: 'pre_store', command: home.sh('sleep 30'), timeout_ms: 30_000, fail_mode: 'closed' },
    });
    const node = await open(home);
    const { clock } = node.services;
    const beganMs = clock.monotonicMs();
    const answer = await bulk(node.services, ROWS.slice(0, 1), beganMs + 1000);
    const [row] = answer['results'] as Fields[];
    assert.deepEqual([row?.['code'], row?.['hook_code']], ['HOOK_VETO', 504]);
    const tookMs = clock.monotonicMs() - beganMs;
    assert.ok(tookMs < 3500, `${tookMs} ms`);
  });
});
