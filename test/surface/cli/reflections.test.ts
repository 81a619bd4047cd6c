import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { temporaryFolder } from '../../support/daemon-process.js';
import { openBeside } from '../../support/test-store.js';
import { commandsIn } from './cli-process.js';

const HOME = temporaryFolder('cli-reflections');
const cli = commandsIn(HOME);
const json = async (...args: string[]): Promise<Record<string, unknown>> => {
  const { code, out, err } = await cli(...args, '--json');
  assert.equal(code, 0, err);
  return JSON.parse(out) as Record<string, unknown>;
};

describe('the commands about reflections', { timeout: 200_000 }, () => {
  const ids: string[] = [];
  let reflection: string;
  before(async () => {
    for (const title of ['one', 'two'])
      ids.push(String((await json('store', '-T', title, '-c', `about ${title}`, '-n', 'team/a'))['id']));
    const { id, reflects_on, reflection_depth, namespace } = await json(
      ...['reflect', '--source-ids', ids.join(','), '-T', 'what follows', '-c', '---\nboth: are true'],
    );
    reflection = String(id);
    assert.deepEqual([reflects_on, reflection_depth, namespace], [ids, 1, 'team/a']);
  });

  it('say where a reflection comes from', async () => {
    const { memory } = await json('get', reflection);
    const { metadata } = memory as { metadata: Record<string, unknown> };
    assert.deepEqual(await json('reflection-origin', reflection), {
      ...{ memory_id: reflection, peer_origin: null, signing_agent: metadata['agent_id'] },
      ...{ original_depth: 1, local_depth_at_arrival: 1, is_reflection: true },
    });
    const plain = await json('reflection-origin', '--memory-id', ids[0]!);
    assert.deepEqual([plain['is_reflection'], plain['local_depth_at_arrival']], [false, null]);
    const missing = await cli('reflection-origin', 'no-such');
    assert.deepEqual([missing.code, /memory not found: no-such/.test(missing.err)], [1, true]);
  });

  it('write each reflection into a file of its own', async () => {
    const written = await json('export-reflections');
    assert.deepEqual([written['exported'], written['refused']], [1, []]);
    const path = join(HOME, 'reflections/team/a', `${reflection}.md`);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    const text = readFileSync(path, 'utf8');
    const [, front = '', body = ''] = /^---\n([\s\S]*?)\n---\n\n([\s\S]*)$/.exec(text)!;
    const members = Object.fromEntries(
      front.split('\n').map((line) => {
        const at = line.indexOf(': ');
        return [line.slice(0, at), JSON.parse(line.slice(at + 2)) as unknown];
      }),
    );
    assert.deepEqual(
      [
        members['id'],
        members['title'],
        members['reflection_depth'],
        new Set(members['reflects_on'] as string[]),
      ],
      [reflection, 'what follows', 1, new Set(ids)],
    );
    assert.equal(body, '# what follows\n\n---\nboth: are true\n');
    const out = join(HOME, 'elsewhere');
    const quiet = await cli('export-reflections', '--out-dir', out, '--format', 'json', '--quiet');
    assert.deepEqual([quiet.code, quiet.out], [0, '']);
    const whole = JSON.parse(readFileSync(join(out, 'team/a', `${reflection}.json`), 'utf8')) as Record<
      string,
      unknown
    >;
    assert.deepEqual(
      [whole['id'], whole['content'], new Set(whole['reflects_on'] as string[])],
      [reflection, '---\nboth: are true', new Set(ids)],
    );
  });

  it('export only what is asked for, and refuse what cannot be', async () => {
    const exported = async (...args: string[]) => {
      const answer = await json('export-reflections', '--out-dir', join(HOME, 'some'), ...args);
      return answer['exported'];
    };
    assert.equal(await exported('--namespace', 'team/**'), 1);
    assert.equal(await exported('--namespace', 'team'), 0);
    assert.equal(await exported('--since', '2999-01-01T00:00:00Z'), 0);
    assert.equal(await exported('--since', '2020-01-01T00:00:00Z'), 1);
    for (const wrong of [
      ['--since', 'yesterday'],
      ['--format', 'xml'],
      ['--namespace', 'a//b'],
    ])
      assert.equal((await cli('export-reflections', ...wrong)).code, 2, wrong.join(' '));
    const blocked = join(HOME, 'blocked');
    mkdirSync(blocked);
    writeFileSync(join(blocked, 'team'), 'a file in the way');
    const { code, out } = await cli('export-reflections', '--out-dir', blocked);
    assert.equal(code, 1);
    assert.match(out, /^exported 0 reflections .*\nnot written: team\/a\//);
    assert.deepEqual(readdirSync(blocked), ['team']);
  });

  it('verify a chain, and find what was changed behind the service', async () => {
    const second = await json(
      'reflect',
      '--source-ids',
      `${reflection},${ids[0]}`,
      '-T',
      'deeper',
      '-c',
      'x',
    );
    const id = String(second['id']);
    const good = await json('verify-reflection-chain', id);
    assert.deepEqual([good['verified'], good['reflection_depth']], [true, 2]);
    assert.equal((good['links'] as unknown[]).length, 4);
    const { signed_events: events } = await json('verify-reflection-chain', id, '--include-signed-events');
    const types = (events as { event_type: string }[]).map(({ event_type }) => event_type);
    assert.equal(types.filter((type) => type === 'memory.reflected').length, 2);
    const db = openBeside({ home: HOME });
    db.prepare('UPDATE memory_links SET signature = NULL WHERE source_id = ? AND target_id = ?').run(
      reflection,
      ids[0],
    );
    db.close();
    const { code, out } = await cli('verify-reflection-chain', id, '--format', 'json');
    const bad = JSON.parse(out) as { verified: boolean; links: { target_id: string; verified: boolean }[] };
    assert.deepEqual([code, bad.verified], [1, false]);
    assert.equal(bad.links.filter(({ verified }) => !verified).length, 1);
    assert.equal((await cli('delete', ids[1]!)).code, 0);
    const removed = JSON.parse((await cli('verify-reflection-chain', id, '--json')).out) as {
      memories: { id: string; findings: string[] }[];
    };
    assert.deepEqual(removed.memories.find((memory) => memory.id === ids[1])?.findings, [
      'the memory was removed',
    ]);
    assert.equal((await cli('verify-reflection-chain', ids[0]!)).code, 2);
  });
});
