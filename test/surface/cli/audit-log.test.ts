import assert from 'node:assert/strict';
import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { type AuditPreset, auditPolicyOf, auditPresetOf } from '../../../node/config/audit-policy.js';
import type { SettingFlags } from '../../../node/config/load-settings.js';
import { auditLinesIn, auditLogFiles } from '../../../node/observability/audit-log.js';
import { auditLog } from '../../../node/runtime/audit-log-duty.js';
import type { DutyParts } from '../../../node/runtime/duty.js';
import { startDaemonHere } from '../../support/daemon-here.js';
import { freePort, temporaryFolder } from '../../support/daemon-process.js';
import { openTestNode } from '../../support/test-node.js';
import { letAuditChange, openBeside } from '../../support/test-store.js';
import { until } from '../../support/wait.js';
import { commandsIn, run } from './cli-process.js';

type Audited = Awaited<ReturnType<typeof homeWithLog>>;

/** A home whose daemon wrote an audit log of two registrations, and ended. */
async function homeWithLog() {
  const home = temporaryFolder('audit-log');
  writeFileSync(join(home, 'config.toml'), '[audit]\nenabled = true\n');
  const cli = commandsIn(home);
  const daemon = await startDaemonHere(home, await freePort());
  for (const name of ['ai:one', 'ai:two']) {
    const { code, err } = await cli('agents', 'register', '--agent-id', name, '--agent-type', 'ai:coder');
    assert.equal(code, 0, err);
  }
  const folder = join(home, 'audit');
  const lines = () => auditLogFiles(folder).flatMap((path) => auditLinesIn(path));
  await until(
    'both acts are in the log',
    () => lines().filter((line) => line?.action !== undefined).length >= 2,
  );
  assert.equal(await daemon.end('SIGTERM'), 0);
  return { home, cli, folder, lines, file: auditLogFiles(folder)[0]! };
}

let audited: Promise<Audited> | null = null;
const shared = () => (audited ??= homeWithLog());

describe('the audit log', { timeout: 180_000 }, () => {
  it('has each act without its details, and signatures of the node, and is verified', async () => {
    const { cli, lines, file, folder } = await shared();
    const acts = lines().filter((line) => line?.action === 'agent.registered');
    assert.equal(acts.length, 2);
    assert.ok(acts.every((line) => line?.payload === undefined && line?.payload_hash?.length === 64));
    assert.ok(lines().some((line) => line?.attestation !== undefined));
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.match(file, /audit-\d{4}-\d\d-\d\d\.jsonl$/);
    const verified = await cli('audit', 'verify', '--json');
    assert.equal(verified.code, 0, verified.out);
    const { intact, attestations } = JSON.parse(verified.out) as { intact: boolean; attestations: number };
    assert.deepEqual([intact, attestations > 0], [true, true]);
    assert.equal((await cli('audit', 'path')).out, `${folder}\n`);
    const tail = await cli('audit', 'tail', '--action', 'agent.', '--lines', '1', '--format', 'json');
    assert.equal((JSON.parse(tail.out) as { action: string }).action, 'agent.registered');
    assert.equal((await cli('audit', 'tail', '--actor', 'nobody')).out, '');
    const shown = await cli('audit', 'show', '--json', '--limit', '1');
    assert.equal((JSON.parse(shown.out) as { count: number }).count, 1);
  });

  it('is found changed with exit code 2: a byte, a line that is gone, a last line of another key', async () => {
    const { cli, file } = await shared();
    const before = readFileSync(file, 'utf8');
    const texts = before.trimEnd().split('\n');
    const changes = [
      before.replace('agent.registered', 'agent.registereD'),
      `${[...texts.slice(0, 1), ...texts.slice(2)].join('\n')}\n`,
      `${before}not a line\n`,
      before.replace(/"signature":"./, (text) => text.slice(0, -1) + (text.endsWith('A') ? 'B' : 'A')),
    ];
    for (const changed of changes) {
      assert.notEqual(changed, before);
      writeFileSync(file, changed);
      const { code, out } = await cli('audit', 'verify');
      assert.equal(code, 2, out);
      assert.match(out, /was changed: audit-.*jsonl:\d+: /);
    }
    writeFileSync(file, before);
    assert.equal((await cli('audit', 'verify')).code, 0);
  });

  it('shows a chain whose newest row was cut off, or that was rewritten', async () => {
    const { cli, home } = await shared();
    const whole = await cli('verify-audit-trail', '--json');
    assert.equal(whole.code, 0, whole.out + whole.err);
    const trail = JSON.parse(whole.out) as Record<string, unknown> & {
      witness: { state: string; compared: number };
    };
    assert.deepEqual([trail['truncation'], trail.witness.state], ['none', 'agrees']);
    assert.ok(trail.witness.compared >= 2);
    const db = openBeside({ home });
    letAuditChange(db);
    const last = db.prepare('SELECT * FROM signed_events ORDER BY sequence DESC LIMIT 1').get() as Record<
      string,
      unknown
    >;
    const head = join(home, readdirSync(home).find((name) => name.endsWith('.audit-head'))!);
    const kept = readFileSync(head);
    try {
      db.prepare('DELETE FROM signed_events WHERE sequence = ?').run(last['sequence']);
      // Whoever cuts the chain removes the signed head too; the log still knows the row.
      rmSync(head);
      const cut = await cli('verify-audit-trail');
      assert.equal(cut.code, 1, cut.out);
      assert.match(cut.out, /its newest rows were cut off|its head is missing/);
      const names = Object.keys(last);
      const changed = { ...last, agent_id: 'ai:else' };
      db.prepare(
        `INSERT INTO signed_events (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
      ).run(...Object.values(changed));
      writeFileSync(head, kept, { mode: 0o600 });
      assert.equal((await cli('verify-audit-trail')).code, 1);
    } finally {
      db.close();
    }
  });

  it('lies where SVC_AUDIT_DIR or --audit-dir says', async () => {
    const { home, folder } = await shared();
    const elsewhere = join(temporaryFolder('audit-elsewhere'), 'log');
    const path = await run(home, ['audit', 'path'], { env: { SVC_AUDIT_DIR: elsewhere } });
    assert.equal(path.out, `${elsewhere}\n`);
    const none = await run(home, ['audit', 'verify'], { env: { SVC_AUDIT_DIR: elsewhere } });
    assert.equal(none.code, 1);
    assert.match(none.err, /the node writes it with the first act of the audit chain/);
    const named = await run(home, ['audit', 'verify', '--audit-dir', folder], {
      env: { SVC_AUDIT_DIR: elsewhere },
    });
    assert.equal(named.code, 0, named.err);
  });

  it('says how to get a log where there is none', async () => {
    const { code, err } = await commandsIn(temporaryFolder('no-audit-log'))('audit', 'verify');
    assert.equal(code, 1);
    assert.match(err, /set \[audit\] enabled to true/);
  });
});

describe('the settings of the audit log', { timeout: 60_000 }, () => {
  /** A node with one act in its chain, and the duty that copies it. */
  async function withDuty(settings: SettingFlags) {
    const folder = join(temporaryFolder('audit-duty'), 'log');
    const node = await openTestNode({ auditLog: true, auditDir: folder, ...settings });
    const { store, peerId, clock } = node.services;
    const errors: string[] = [];
    const quiet = () => undefined;
    const log = {
      debug: quiet,
      info: quiet,
      warn: quiet,
      error: (_: object, text: string) => errors.push(text),
    };
    const parts = { store, peerId, settings: node.services.settings, clock, log } as unknown as DutyParts;
    const act = (id: string) =>
      store.execute({ kind: 'note-schema-denial', agentId: id, families: ['core'] } as never);
    assert.ok((await act('ai:one')).ok);
    const lines = () => auditLogFiles(folder).flatMap((path) => auditLinesIn(path));
    return {
      node,
      folder,
      act,
      errors,
      lines,
      parts,
      round: auditLog.run(parts),
      again: () => auditLog.run(parts),
    };
  }

  const applied = (preset: Partial<AuditPreset>): AuditPreset => ({
    ...{ preset: 'gdpr', applied: true, retentionDays: null, redacts: false, attestMinutes: null },
    ...{ encryptsAtRest: false, pseudonymizes: false },
    ...preset,
  });

  it('write nothing unless enabled', async () => {
    const { node, round, folder } = await withDuty({ auditLog: false });
    await round();
    assert.equal(existsSync(folder), false);
    await node.close();
  });

  it('show or leave out details, hide actors, and chain lines or not', async () => {
    const open = await withDuty({ auditRedacts: false, auditHashChain: false });
    await open.round();
    const [act] = open.lines();
    assert.deepEqual(
      [act?.actor, typeof act?.payload, act?.hash, act?.prev],
      ['ai:one', 'object', undefined, undefined],
    );
    await open.node.close();
    const hidden = await withDuty({ auditRedacts: false, auditPresets: [applied({ pseudonymizes: true })] });
    await hidden.round();
    await hidden.act('ai:one');
    await hidden.round();
    const acts = hidden.lines().filter((line) => line?.action !== undefined);
    assert.match(acts[0]!.actor!, /^p:[0-9a-f]{32}$/);
    assert.equal(acts[1]!.actor, acts[0]!.actor);
    assert.ok(!JSON.stringify(acts).includes('ai:one'));
    await hidden.node.close();
  });

  it('sign the end as often as attestation_cadence_minutes says, where there are new lines', async () => {
    const { node, act, parts, lines } = await withDuty({ auditAttestMinutes: 30 });
    let laterMs = 0;
    const clock = { ...parts.clock, nowMs: () => parts.clock.nowMs() + laterMs };
    const round = auditLog.run({ ...parts, clock });
    const signed = () => lines().filter((line) => line?.attestation !== undefined).length;
    await round();
    assert.equal(signed(), 1);
    await act('ai:two');
    laterMs = 29 * 60_000;
    await round();
    assert.equal(signed(), 1);
    laterMs = 31 * 60_000;
    await round();
    assert.equal(signed(), 2);
    laterMs = 90 * 60_000;
    await round();
    assert.equal(signed(), 2, 'nothing new');
    await node.close();
  });

  it('go on after a restart, also behind a line that was not finished', async () => {
    const { node, round, again, act, lines, folder } = await withDuty({});
    await round();
    appendFileSync(auditLogFiles(folder)[0]!, '{"v":1,"sequ');
    await act('ai:two');
    await again()();
    const acts = lines().filter((line) => line?.action !== undefined);
    assert.deepEqual(
      acts.map((line) => line!.sequence),
      [1, 2],
    );
    assert.ok(lines().every((line) => line !== null));
    await node.close();
  });

  it('append to no log that somebody else changed, unless append_only is false', async () => {
    for (const auditAppendOnly of [true, false]) {
      const { node, round, act, errors, folder } = await withDuty({ auditAppendOnly });
      await round();
      const file = auditLogFiles(folder)[0]!;
      writeFileSync(file, `${readFileSync(file, 'utf8').split('\n')[0]}\n`);
      await act('ai:two');
      const before = statSync(file).size;
      await round();
      assert.equal(errors.length, auditAppendOnly ? 1 : 0);
      assert.equal(statSync(file).size > before, !auditAppendOnly);
      await node.close();
    }
  });

  it('drop the files of days beyond the retention', async () => {
    const { node, round, again, act, folder } = await withDuty({ auditRetentionDays: 10 });
    await round();
    const name = auditLogFiles(folder)[0]!;
    writeFileSync(join(folder, 'audit-2020-01-01.jsonl'), readFileSync(name));
    await act('ai:two');
    await again()();
    assert.deepEqual(
      readdirSync(folder).map((each) => join(folder, each)),
      [name],
    );
    await node.close();
  });

  it('take the strictest of all presets that are applied', () => {
    const settings = { auditRedacts: false, auditAttestMinutes: 60, auditRetentionDays: 90 };
    const auditPresets = [
      applied({ retentionDays: 2190, redacts: true }),
      applied({ preset: 'soc2', attestMinutes: 15, retentionDays: 365 }),
      applied({ preset: 'hipaa', applied: false, pseudonymizes: true, retentionDays: 9999 }),
    ];
    assert.deepEqual(auditPolicyOf({ ...settings, auditPresets }), {
      ...{ redacts: true, pseudonymizes: false, attestMinutes: 15, retentionDays: 2190 },
    });
    assert.match(String(auditPresetOf({ preset: 'pci' })), /no preset/);
    assert.match(String(auditPresetOf({ preset: 'gdpr', retention_days: 0 })), /above 0/);
    assert.match(String(auditPresetOf({ preset: 'gdpr', redacts: true })), /unknown key/);
  });
});
