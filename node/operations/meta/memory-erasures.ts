import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { ID_LENGTH_MAX } from '../../../protocol/base/limits.js';
import { failed, ok } from '../../../protocol/base/result.js';
import { instantFromMs } from '../../../protocol/base/time.js';
import type { Viewer } from '../../../protocol/base/viewer.js';
import { type ErasureDone, erasureDoneKind } from '../../../protocol/erasure/erasure-done-kind.js';
import { keptCopyKind } from '../../../protocol/erasure/kept-copy-kind.js';
import { rowsOf } from '../../../protocol/kinds/find.js';
import { mayHold } from '../../../protocol/log/scope.js';
import { type Erasure, erasureKind } from '../../../protocol/memory/erasure-kind.js';
import type { ReadCall } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';

const ERASURES = 50;
const ERASURES_MAX = 500;
const COPIES_MAX = 1000;

const erasure = z.object({
  id: z.string(),
  namespace: z.string(),
  erased_at: z.string().describe('When this node heard of it'),
  erased_by: z.string().nullable().describe('Who asked this node; null where another node was asked'),
  done: z.array(z.string()).describe('Members that have overwritten what they held'),
  missing: z.array(z.string()).describe('Members that have not said so yet'),
  outside: z.array(z.string()).describe('Members that may not hold the namespace, so they say nothing in it'),
});

/** How far erasures are on the nodes of the mesh. */
export const memoryErasures = defineOperation({
  name: 'memory_erasures',
  family: 'meta',
  summary: 'Show on which nodes erased memories are gone, and which files from before may still hold them.',
  input: z.object({
    id: z.string().min(1).max(ID_LENGTH_MAX).optional().describe('Only this memory, by its whole id'),
    limit: fields.listLimit(ERASURES, ERASURES_MAX, 'erasures'),
  }),
  output: z.object({
    erasures: z.array(erasure).describe('The newest first; your own, or all for an admin'),
    count: z.int(),
    members: z.int().describe('Nodes of the mesh, this one included'),
    copies: z
      .array(z.object({ path: z.string(), what: z.string(), made_at: z.string() }))
      .describe('Backups and exports that this node made before and that are still there; for admins'),
    ...fields.listEnd,
  }),
  effect: 'read',
  guards: {},
  http: [{ method: 'GET', path: '/erasures', fields: 'query' }],
  mcp: {
    description:
      'See on how many nodes the memories that you erased are gone, which nodes are missing, and which backups may still hold them.',
  },
  cli: {
    command: 'erasure status',
    positionals: ['id'],
    view: 'message',
    message: (output) => text(output as unknown as Shown),
    examples: ['erasure status', 'erasure status 3f2a9c1e-0000-4000-8000-000000000000'],
  },
  run: async (call, { id, limit }) => {
    const viewer = viewerOf(call);
    const asked = { kind: 'find-records', viewer, now: call.now } as const;
    const found = await call.services.store.query({
      ...{ ...asked, of: erasureKind.name, limit },
      ...(id === undefined ? { order: { by: 'erased_at', descending: true } } : { where: { memory_id: id } }),
    });
    if (!found.ok) return failed(found.error);
    const erasures = rowsOf(erasureKind, found.value);
    const members = await membersOf(call);
    const shown = [];
    for (const each of erasures) {
      const done = await doneBy(call, each);
      if (!done.ok) return failed(done.error);
      shown.push(standing(each, members, done.value));
    }
    const newest = erasures[0]?.erased_at;
    const copies = newest === undefined ? ok([]) : await copiesBefore(call, newest);
    if (!copies.ok) return failed(copies.error);
    const more = found.value.next === null ? {} : { truncated: true as const };
    return ok({
      ...{ erasures: shown, count: shown.length, members: members.length, copies: copies.value },
      ...more,
    });
  },
});

/** An admin sees every erasure, and the files of the node. */
const viewerOf = ({ caller: { viewer, admin } }: ReadCall): Viewer => ({
  ...viewer,
  all: viewer.all || admin,
});

interface Member {
  readonly peerId: string;
  readonly allowedNamespaces: readonly string[] | null;
}

async function membersOf({ services }: ReadCall): Promise<readonly Member[]> {
  const others = (await services.members?.()) ?? [];
  return [{ peerId: services.peerId, allowedNamespaces: null }, ...others];
}

async function doneBy({ services, now }: ReadCall, { memory_id, finished_at }: Erasure) {
  const found = await services.store.query({
    ...{ kind: 'find-records', of: erasureDoneKind.name, viewer: null, now, limit: ERASURES_MAX },
    ...{ where: { memory_id } },
  });
  if (!found.ok) return failed(found.error);
  const peers = new Set(rowsOf(erasureDoneKind, found.value).map(({ peer_id }: ErasureDone) => peer_id));
  if (finished_at !== null) peers.add(services.peerId);
  return ok(peers);
}

function standing(
  { memory_id: id, namespace, erased_at, erased_by }: Erasure,
  members: readonly Member[],
  done: ReadonlySet<string>,
) {
  const named = (chosen: readonly Member[]) => chosen.map(({ peerId }) => peerId).sort();
  const open = members.filter(({ peerId }) => !done.has(peerId));
  return {
    ...{ id, namespace, erased_at, erased_by },
    done: [...done].sort(),
    missing: named(open.filter((member) => mayHold(member, namespace))),
    outside: named(open.filter((member) => !mayHold(member, namespace))),
  };
}

/** Files that were made before the newest of the erasures and are still there. */
async function copiesBefore(call: ReadCall, before: string) {
  const { services, now } = call;
  const viewer = viewerOf(call);
  const found = await services.store.query({
    ...{ kind: 'find-records', of: keptCopyKind.name, viewer, now, limit: COPIES_MAX },
    ...{ where: { made_at: { before } }, order: { by: 'made_at', descending: true } },
  });
  if (!found.ok) return failed(found.error);
  const noted = rowsOf(keptCopyKind, found.value).filter(({ path }) => existsSync(path));
  return ok([...noted, ...(viewer.all ? snapshotsOf(services.settings.dbPath) : [])]);
}

/** Copies that upgrades and restores left beside the database. Their names hold the time at which they were made. */
function snapshotsOf(database: string) {
  const [folder, name] = [dirname(database), basename(database)];
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((file) =>
    SNAPSHOTS.some((kind) => file.startsWith(`${name}.${kind}`)),
  );
  return names.map((file) => {
    const path = join(folder, file);
    return { path, what: 'snapshot', made_at: instantFromMs(statSync(path).mtimeMs) };
  });
}

const SNAPSHOTS = ['pre-migration-', 'before-restore-'];

interface Shown {
  readonly erasures: readonly z.output<typeof erasure>[];
  readonly members: number;
  readonly copies: readonly { readonly path: string; readonly what: string; readonly made_at: string }[];
}

function text({ erasures, members, copies }: Shown): readonly string[] {
  const lines = erasures.map(({ id, namespace, done, missing, outside }) =>
    [
      `${id} (${namespace}): gone on ${done.length} of ${members} nodes`,
      ...(missing.length > 0 ? [`missing: ${missing.join(', ')}`] : []),
      ...(outside.length > 0 ? [`not in its namespace: ${outside.join(', ')}`] : []),
    ].join('; '),
  );
  const files = copies.map(({ path, what, made_at }) => `${what} of ${made_at}: ${path}`);
  const before = files.length === 0 ? [] : ['may still hold what was erased:', ...files];
  return lines.length === 0 ? ['nothing was erased'] : [...lines, ...before];
}
