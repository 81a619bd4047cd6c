import assert from 'node:assert/strict';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { memoryBulk } from '../../../node/operations/memory-bulk.js';
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
