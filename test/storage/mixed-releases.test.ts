import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Row } from '../../protocol/decide/rows.js';
import { Kinds } from '../../protocol/kinds/kinds.js';
import { isCount, isText, isTextOrNull, type Rest } from '../../protocol/kinds/payload.js';
import { recordKind } from '../../protocol/kinds/record-kind.js';
import type { InboxMessage } from '../../protocol/messages/queries.js';
import { receiptKind } from '../../protocol/messages/receipt-kind.js';
import { inboxOf } from '../../protocol/namespaces/mail.js';
import { KINDS } from '../../protocol/release.js';
import { aMemory, deleting, OPERATOR, tenant } from '../support/memories.js';
import { type Replica, replica, upgradedTo } from '../support/replicas.js';
import { aSticker, lampKind, MORE_KINDS, stickerKind } from '../support/throwaway-kinds.js';
import { alike, HAVE, recordCase, rowOf, START_MS, sync } from './kind-cases.js';

/** The sticker of a release before the member "colour"; that release has no lamp either. */
const olderSticker = recordKind<{ readonly rest: Rest }>({
  name: 'sticker',
  members: {
    text: { accepts: isText, default: '' },
    tags: { accepts: (value: unknown) => Array.isArray(value) && value.every(isText), default: [] },
    score: { accepts: isCount, default: 0 },
    until: { accepts: isTextOrNull, default: null },
  } as never,
  idOf: () => null,
  namespaceOf: () => null,
  losers: 'listed',
  exported: false,
  indexes: [{ name: 'sticker_text', members: ['text'] }],
});
const OLDER = new Kinds([...KINDS.all, olderSticker as never]);

const team = { id: 's', namespace: 'team' };
const sticker = recordCase(stickerKind, team, (version) =>
  aSticker({ text: `text ${version}`, colour: 'red' }),
);
const lamp = recordCase(lampKind, { id: 'peer-a/lamp', namespace: 'team' }, (version) => ({
  ...{ lit: version % 2 === 0 ? 'on' : 'off', rest: { bulb: version } },
}));

/** Two nodes of the newer release, and one of the older release between them. */
function mesh() {
  const newer = replica('a', START_MS, undefined, MORE_KINDS);
  const older = replica('b', START_MS, undefined, OLDER);
  const beyond = replica('c', START_MS, undefined, MORE_KINDS);
  return { newer, older, beyond };
}

/** Gives a replica what another has; it may park some. */
async function pass(from: Replica, to: Replica) {
  return (await to.apply(await from.read(HAVE(to)))).parked;
}

async function sentTo(addressee: string, { run }: Replica): Promise<string> {
  const metadata = {
    agent_id: 'ai:a',
    attest_level: 'claimed',
    recipient_agent_id: addressee,
    scope: 'private',
  };
  const memory = aMemory({
    namespace: inboxOf(addressee),
    metadata,
  });
  await run({ kind: 'send-message', memory, viewer: OPERATOR });
  return memory.id;
}

/** Whether each message of the inbox was read, as a replica shows it. */
async function readOf({ store, nowMs }: Replica): Promise<readonly boolean[]> {
  const now = new Date(nowMs).toISOString();
  const asked = { kind: 'list-inbox', agentId: 'ai:b', unreadOnly: false, limit: 10, now } as const;
  const listed = await store.query(asked);
  assert.ok(listed.ok);
  return listed.value.messages.map(({ read }: InboxMessage) => read);
}

const recordsOf = ({ db }: Replica) =>
  db.prepare('SELECT kind, id, namespace, payload, hlc, origin, origin_seq, hex(digest) FROM records').all();

describe('nodes of two releases', () => {
  it('pass on kinds and members that the older one does not know', async () => {
    const { newer, older, beyond } = mesh();
    await sticker.put(newer, 1);
    await lamp.put(newer, 1);
    assert.deepEqual(await pass(newer, older), [{ op_id: 'peer-a/epocha/2', reason: 'unknown_kind' }]);
    assert.deepEqual(await pass(older, beyond), []);
    await alike(newer, beyond);
    assert.equal((rowOf(beyond, stickerKind as never, 's')!.image as { colour: string }).colour, 'red');
  });

  it('keep a member that the older one does not know when that one edits the row', async () => {
    const { newer, older } = mesh();
    await sticker.put(newer, 1);
    await pass(newer, older);
    const held = rowOf(older, olderSticker as never, 's') as Row<{ rest: Rest }>;
    assert.deepEqual(held.image.rest, { colour: 'red' });
    older.nowMs += 1000;
    await recordCase(olderSticker, team, () => ({ ...held.image, text: 'edited by the older one' })).put(
      older,
      2,
    );
    await sync(older, newer);
    const { text, colour } = rowOf(newer, stickerKind as never, 's')!.image as {
      text: string;
      colour: string;
    };
    assert.deepEqual([text, colour], ['edited by the older one', 'red']);
    assert.deepEqual(recordsOf(newer), recordsOf(older));
    assert.deepEqual([newer.audit(), older.audit()], [[], []]);
  });

  it('keep what was read while the older one knows no receipts, and it shows that as unread', async () => {
    const withoutReceipts = new Kinds(KINDS.all.filter(({ name }) => name !== receiptKind.name));
    const newer = replica('a', START_MS);
    const older = replica('b', START_MS, undefined, withoutReceipts);
    const beyond = replica('c', START_MS);
    const [read, gone] = [await sentTo('ai:b', newer), await sentTo('ai:b', newer)];
    const marking = { kind: 'mark-read', ids: [read, gone], reader: 'ai:b', viewer: tenant('ai:b') } as const;
    await newer.run(marking);
    assert.deepEqual(
      (await pass(newer, older)).map(({ reason }) => reason),
      ['unknown_kind', 'unknown_kind'],
    );
    assert.deepEqual(
      [await readOf(newer), await readOf(older)],
      [
        [true, true],
        [false, false],
      ],
    );
    assert.deepEqual(await pass(older, beyond), [], 'it passes them on');
    assert.deepEqual(await readOf(beyond), [true, true]);
    older.nowMs += 1000;
    await older.run({ ...deleting(gone), archive: false });
    const upgraded = upgradedTo(KINDS, older);
    await upgraded.run({ kind: 'retry-parked', after: 0, skip: 0, limit: 10 });
    assert.deepEqual(await readOf(upgraded), [true]);
    await sync(upgraded, newer);
    await alike(newer, upgraded);
    for (const node of [newer, upgraded]) {
      const spent = await node.store.query({ kind: 'spent-receipts', limit: 10 });
      assert.ok(spent.ok);
      await node.run({ kind: 'drop-receipts', ids: spent.value.ids });
      assert.deepEqual(
        node.db.prepare("SELECT id FROM records WHERE kind = 'receipt'").pluck().all(),
        [read],
        'the receipt goes with its message',
      );
    }
  });

  it('are one after the older one has become the newer', async () => {
    const { newer, older } = mesh();
    for (const version of [1, 2]) {
      await sticker.put(newer, version);
      await lamp.put(newer, version);
    }
    await pass(newer, older);
    const upgraded = upgradedTo(MORE_KINDS, older);
    await upgraded.run({ kind: 'retry-parked', after: 0, skip: 0, limit: 10 });
    await alike(newer, upgraded);
    await lamp.drop(newer);
    await sync(newer, upgraded);
    await alike(newer, upgraded);
  });
});
