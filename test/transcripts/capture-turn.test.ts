import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { detailsOf } from '../../protocol/base/result.js';
import type { CaptureTurnOutcome } from '../../protocol/transcripts/capture-turn.js';
import { transcriptId } from '../../protocol/transcripts/transcript-kind.js';
import { deleting } from '../support/memories.js';
import { type Replica, replica } from '../support/replicas.js';
import { aTurn } from '../support/turns.js';

const START_MS = Date.parse('2026-02-25T00:00:00.000Z');

const rows = ({ db }: Replica, kind: string) =>
  db.prepare('SELECT id, payload FROM records WHERE kind = ? ORDER BY id').all(kind) as {
    readonly id: string;
    readonly payload: string;
  }[];
const count = ({ db }: Replica, table: string) =>
  db.prepare(`SELECT count(*) FROM ${table}`).pluck().get() as number;

describe('capturing a turn', () => {
  let one: Replica;
  before(() => {
    one = replica('a', START_MS);
  });
  after(() => one.store.close());

  it('stores the memory, the transcript and the text in one transaction, with a row of the audit chain', async () => {
    const command = aTurn({ content: 'hello\u0007 there' });
    assert.deepEqual(await one.run(command), { memoryId: command.memory.id, created: true });
    assert.equal(command.memory.content, 'hello\ufffd there');
    assert.deepEqual(
      [rows(one, 'transcript'), rows(one, 'blob')].map((all) => all.map(({ id }) => id)),
      [[transcriptId(command.transcript)], [command.transcript.blob_id]],
    );
    const [event] = one.db
      .prepare("SELECT agent_id, payload FROM signed_events WHERE event_type = 'memory_capture_turn'")
      .all() as { readonly agent_id: string; readonly payload: string }[];
    assert.equal(event!.agent_id, 'ai:writer');
    const { memory_id, content_sha256 } = JSON.parse(event!.payload) as Record<string, unknown>;
    assert.deepEqual([memory_id, content_sha256], [command.memory.id, command.transcript.content_sha256]);
    assert.deepEqual(one.audit(), []);
  });

  it('answers the same turn with its memory, and changes nothing', async () => {
    const first = aTurn({ host_session_id: 'again' });
    await one.run(first);
    const before = count(one, 'operations');
    const again = (await one.run(aTurn({ host_session_id: 'again' }))) as CaptureTurnOutcome;
    assert.deepEqual(again, { memoryId: first.memory.id, created: false });
    assert.equal(count(one, 'operations'), before);
    await one.run(deleting(first.memory.id));
    const late = (await one.run(aTurn({ host_session_id: 'again' }))) as CaptureTurnOutcome;
    assert.deepEqual(
      late,
      { memoryId: first.memory.id, created: false },
      'a deleted turn does not come back',
    );
  });

  it('refuses another text or role under the number of a turn, and names both digests', async () => {
    const first = aTurn({ host_session_id: 'conflict' });
    await one.run(first);
    for (const other of [{ content: 'something else' }, { role: 'assistant' as const }]) {
      const command = aTurn({ host_session_id: 'conflict', ...other });
      const refused = await one.store.execute(command);
      assert.ok(!refused.ok);
      assert.equal(refused.error.code, 'TURN_CONFLICT');
      assert.deepEqual(detailsOf(refused.error, 'TURN_CONFLICT'), {
        existing_id: first.memory.id,
        content_sha256: command.transcript.content_sha256,
        existing_content_sha256: first.transcript.content_sha256,
      });
    }
  });

  it('keeps the turns of two agents with one session apart', async () => {
    const both = ['ai:a', 'ai:b'].map((agentId) => aTurn({ agentId, host_session_id: 'shared' }));
    for (const command of both) {
      const { memoryId, created } = (await one.run(command)) as CaptureTurnOutcome;
      assert.deepEqual([memoryId, created], [command.memory.id, true]);
    }
    const titles = one.db
      .prepare("SELECT title FROM memories WHERE title LIKE 'turn 0 of shared%' ORDER BY title")
      .pluck()
      .all();
    assert.deepEqual(titles, ['turn 0 of shared', 'turn 0 of shared (2)']);
  });

  it('stores one text once in a namespace', async () => {
    const told = { host_session_id: 'same text', content: 'said twice', namespace: 'twice' };
    for (const host_turn_index of [1, 2]) await one.run(aTurn({ ...told, host_turn_index }));
    assert.equal(rows(one, 'blob').filter(({ id }) => id.startsWith('twice|')).length, 1);
  });

  it('knows a line by its digest, whatever number it has', async () => {
    const told = { host_session_id: 'lines', layer: 'L2', path: '/a/file.jsonl' } as const;
    const lineSha256 = 'cd'.repeat(32);
    const first = aTurn({ ...told, host_turn_index: 1, lineSha256 });
    await one.run(first);
    const again = await one.run(aTurn({ ...told, host_turn_index: 7, lineSha256 }));
    assert.deepEqual(again, { memoryId: first.memory.id, created: false });
  });

  it('refuses parts that do not belong together', async () => {
    const command = aTurn({ host_session_id: 'parts' });
    const other = aTurn({ host_session_id: 'parts', content: 'another text' });
    for (const wrong of [
      { ...command, blob: other.blob },
      { ...command, memory: other.memory },
      { ...command, transcript: { ...command.transcript, namespace: 'elsewhere' } },
      { ...command, transcript: { ...command.transcript, agent_id: 'ai:other' } },
    ]) {
      const refused = await one.store.execute(wrong);
      assert.ok(!refused.ok);
      assert.equal(refused.error.code, 'VALIDATION_FAILED');
    }
  });

  it('takes a turn that another node captured for the same', async () => {
    const two = replica('b', START_MS);
    const first = aTurn({ host_session_id: 'elsewhere' });
    await one.run(first);
    await two.apply(await one.read({}));
    const again = await two.run(aTurn({ host_session_id: 'elsewhere', peerId: 'peer-b' }));
    assert.deepEqual(again, { memoryId: first.memory.id, created: false });
    assert.deepEqual(two.audit(), []);
    two.store.close();
  });
});
