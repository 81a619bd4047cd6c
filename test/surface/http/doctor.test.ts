import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Examination } from '../../../node/pipeline/examination.js';
import {
  type DaemonProcess,
  freePort,
  startDaemonProcess,
  temporaryFolder,
} from '../../support/daemon-process.js';
import { run } from '../cli/cli-process.js';

const ROOT = 'ai:root';
const SETTINGS = { SVC_ADMIN_AGENT_IDS: ROOT, SVC_ADMIN_HEADER_TRUST: '1' };

let daemon: DaemonProcess;
let db: string;
before(async () => {
  const home = temporaryFolder('doctor-http');
  db = join(home, 'elsewhere.db');
  daemon = await startDaemonProcess(home, await freePort(), SETTINGS, ['--db', db]);
});
after(() => daemon.end('SIGTERM'));

const asked = (agent: string) => fetch(`${daemon.base}/doctor`, { headers: { 'x-agent-id': agent } });
const codesOf = ({ sections }: Examination) =>
  sections.map(({ name, findings }) => [name, findings.map(({ code }) => code)]);

test('admins read over HTTP what doctor finds on the machine, of the database that serve was given', async () => {
  const report = (await (await asked(ROOT)).json()) as Examination;
  const { port } = new URL(daemon.base);
  const { out } = await run(daemon.home, ['doctor', '--json', '--db', db, '--port', port], { env: SETTINGS });
  assert.deepEqual(codesOf(report), codesOf(JSON.parse(out) as Examination));
  const storage = report.sections.find(({ name }) => name === 'Storage')!;
  assert.ok(storage.facts.some(([fact, value]) => fact === 'database' && value === db));
});

test('several admins at a time get one report, and the node keeps its database', async () => {
  const answers = await Promise.all([ROOT, ROOT, ROOT].map(asked));
  const reports = await Promise.all(answers.map(async (each) => (await each.json()) as Examination));
  assert.equal(new Set(reports.map(({ generated_at: at }) => at)).size, 1);
  const stored = await fetch(`${daemon.base}/memories`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-agent-id': 'ai:alice' },
    body: JSON.stringify({ title: 'still written', content: 'c' }),
  });
  assert.equal(stored.status, 201);
  assert.equal((await asked('ai:alice')).status, 403);
});
