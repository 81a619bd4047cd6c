import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Memory } from '../../../protocol/memory/memory.js';
import { deleting, updating } from '../memories.js';
import type { OperationChange } from '../test-peer.js';
import { asSqlite } from '../test-store.js';
import { type FormatCast, id } from './format-cast.js';
import { carry, formatNode, formatPeer } from './format-node.js';

/** A node's database is put back, and it gives numbers twice; the kept database hears of both histories. */
export async function putBack(cast: FormatCast): Promise<void> {
  const { ash, birch } = cast;
  const shared = await cast.store(cast.cedar, { title: 'Shared before it was put back', tier: 'long' });
  await cast.exchange(ash, birch, cast.cedar);
  const copy = join(cast.folder, 'cedar-again.db');
  asSqlite(cast.cedar.db).pragma('wal_checkpoint(TRUNCATE)');
  copyFileSync(cast.cedar.path, copy);
  await cast.store(cast.cedar, { title: 'Written and lost with the disk', tier: 'long' });
  await cast.run(cast.cedar, updating(shared, { content: 'edited and lost with the disk' }));
  await carry(cast.cedar, birch);
  await cast.cedar.store.close();
  cast.cedar = formatNode(cast.folder, 'cedar-again.db', 'cedar', cast.nowMs);
  const fresh = await cast.store(cast.cedar, { title: 'Written after it was put back', tier: 'long' });
  await cast.run(cast.cedar, deleting(shared));
  await carry(cast.cedar, ash);
  await cast.run(ash, updating(fresh, { content: 'edited elsewhere' }));
  const { heads, self } = await cast.origins(cast.cedar);
  const keep = heads[self]!.seq - 2;
  await cast.run(cast.cedar, { kind: 'begin-epoch', epoch: '0000000063656402', reason: 'put back', keep });
  await cast.exchange(ash, birch, cast.cedar);
  await cast.exchange(ash, birch, cast.cedar);
}

/** Three nodes write to the same memories, and give one title to three. */
export async function concurrent(cast: FormatCast): Promise<void> {
  const { ash, birch, cedar } = cast;
  const ids: string[] = [];
  for (const title of ['Edited on both sides', 'Edited and deleted', 'Moved and edited'])
    ids.push(await cast.store(ash, { title, tier: 'long', namespace: 'notes' }));
  await cast.exchange(ash, birch, cedar);
  for (const each of ids)
    await cast.run(birch, updating(each, { content: 'as birch has it', tags: ['birch'] }));
  await cast.run(ash, updating(ids[0]!, { content: 'as ash has it', tags: ['ash'] }));
  await cast.run(cedar, updating(ids[0]!, { priority: 8 }));
  await cast.run(ash, deleting(ids[1]!));
  await cast.run(ash, updating(ids[2]!, { namespace: 'notes/deep' }));
  await cast.store(ash, { title: 'One title', content: 'of ash', tier: 'long' });
  await cast.store(birch, { title: 'One title', content: 'of birch', tier: 'long' });
  await cast.store(cedar, { title: 'One title', content: 'of cedar', tier: 'long' });
  await cast.exchange(ash, birch, cedar);
}

/** What a node with a narrow scope writes inside of it, and outside. */
export async function scoped(cast: FormatCast): Promise<void> {
  const { ash, birch, dogwood } = cast;
  await cast.store(dogwood, { title: 'Inside its scope', namespace: 'team/wood', tier: 'long' });
  await cast.store(dogwood, { title: 'Outside its scope', namespace: 'private', tier: 'long' });
  await cast.store(dogwood, { title: 'Inside again', namespace: 'team/wood', tier: 'long' });
  await carry(dogwood, ash);
  await carry(ash, birch);
}

/** Operations that are kept and not understood, whatever later releases know, or not believed. */
export async function ofALaterRelease(cast: FormatCast): Promise<void> {
  const elm = formatPeer('elm');
  const write = (fields: Partial<Memory>, change: OperationChange = {}) => {
    cast.tick(1000);
    cast.ids += 1;
    const hlc = `${cast.nowMs}-00000`;
    return elm.operation({ id: id(cast.ids), tier: 'long', ...fields }, { hlc, ...change });
  };
  const report = JSON.stringify({ id: 'weather-1', namespace: 'team', text: 'of a later release' });
  const operations = [
    write({ title: 'Of a later release' }),
    write({}, { kind: 'weather.put' as never, namespace: 'team', subject: 'weather-1', payload: report }),
    write({
      title: 'Not signed by whom it names',
      metadata: { agent_id: 'ai:author', attest_level: 'agent_attested' },
    }),
    write({ title: 'No memory' }, { payload: '{"id":"nothing"}' }),
    write({ title: 'After what was not understood', namespace: 'team/wood' }),
  ];
  await cast.ash.take({ operations, heads: [elm.head()], more: false });
  await cast.run(cast.ash, updating(operations[0]!.subject, { content: 'edited here' }));
}
