import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { untilAnswer } from '../support/wait.js';
import { ProcessMesh } from './processes/process-mesh.js';
import type { ProcessNode } from './processes/process-node.js';

const DAYS_MS = 10 * 86_400_000;

async function ask(node: ProcessNode, method: string, path: string, body?: object) {
  const response = await fetch(`${node.base}${path}`, {
    method,
    headers: { 'content-type': 'application/json', 'x-agent-id': 'ai:client' },
    signal: AbortSignal.timeout(10_000),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const store = (node: ProcessNode, title: string) =>
  ask(node, 'POST', '/memories', { title, tier: 'long', content: `${title} as it was told` });

const isWritten = ({ status }: { status: number }) => status === 201 || status === 202;

type Findings = { sections: { findings: { code: string; fix: string | null }[] }[] };

async function findingsOf(node: ProcessNode): Promise<Findings['sections'][number]['findings']> {
  const { out } = await node.cli(['doctor', '--json']);
  return (JSON.parse(out) as Findings).sections.flatMap(({ findings }) => findings);
}

describe('a mesh in which one clock was ahead', () => {
  it('refuses writes under such a clock, and takes what was written after one command', async () => {
    const mesh = await ProcessMesh.form(2);
    try {
      const [one, two] = mesh.nodes as [ProcessNode, ProcessNode];
      const before = await store(one, 'before');
      assert.ok(isWritten(before), JSON.stringify(before));
      await mesh.drain(30_000);
      await one.end('SIGTERM');
      one.clockOffsetMs = DAYS_MS;
      await one.start();
      const refused = await store(one, 'refused');
      assert.deepEqual([refused.status, refused.body['code']], [503, 'CLOCK_AHEAD'], JSON.stringify(refused));
      assert.ok((await findingsOf(one)).some(({ code }) => code === 'CLOCK_AHEAD'));

      // Nobody answers who knows better.
      await two.end('SIGTERM');
      const told = await untilAnswer('a lone node writes', () => store(one, 'while ahead'), isWritten);
      const gone = await ask(one, 'DELETE', `/memories/${String(before.body['id'])}`);
      assert.ok(gone.status < 300, JSON.stringify(gone));
      // A killed process leaves a lease that ends in ten days.
      await one.end('SIGKILL');
      one.clockOffsetMs = 0;
      await one.must(['repair', '--clock', '--dry-run']);
      await one.start();
      await two.start();
      const later = await untilAnswer('it writes', () => store(one, 'afterwards'), isWritten);
      const ids = [told, later].map(({ body }) => String(body['id']));
      const seen = async (id: string) => (await ask(two, 'GET', `/memories/${id}`)).status;
      const finding = await untilAnswer(
        'doctor names the command',
        async () => (await findingsOf(one)).find(({ code }) => code === 'LOG_AHEAD'),
        (found) => found !== undefined,
      );
      assert.match(String(finding!.fix), /mnemesh repair --clock/);
      assert.deepEqual(await Promise.all(ids.map(seen)), [404, 404]);

      const busy = await one.cli(['repair', '--clock']);
      assert.equal(busy.code, 75, busy.out);
      assert.match(busy.err, /stop it first/);
      await one.end('SIGTERM');
      const clock = async (...flags: readonly string[]) =>
        JSON.parse(await one.must(['repair', '--clock', ...flags, '--json'])) as Record<string, unknown>;
      const planned = await clock('--dry-run');
      const done = await clock();
      assert.deepEqual([planned['restamped'], done['restamped']], [false, true]);
      assert.equal(planned['operations'], done['operations']);
      assert.notEqual(planned['origin'], done['origin']);
      assert.ok(Number(done['operations']) >= 3 && Number(done['ahead_seconds']) > 800_000);
      await mesh.drain(30_000);
      assert.deepEqual(await Promise.all(ids.map(seen)), [200, 200]);
      assert.equal(await seen(String(before.body['id'])), 404, 'the deletion has arrived');
      assert.ok(isWritten(await store(one, 'at last')));
      assert.ok((await findingsOf(one)).every(({ code }) => !code.startsWith('LOG_AHEAD')));
      await mesh.end();
    } finally {
      await mesh.close();
    }
  });
});
