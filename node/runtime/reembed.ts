import { REEMBED_ROWS_MAX } from '../../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import type { Scheduler } from '../../protocol/base/seams.js';
import type { EncoderRef } from '../../protocol/maintenance/encoder-ref.js';
import type { EmbeddingFacts } from '../../protocol/maintenance/queries.js';
import type { Settings } from '../config/settings.js';
import type { Services } from '../pipeline/call.js';
import { openEmbedder } from '../semantics/open-embedder.js';
import { livingOwner } from '../threads/presence.js';
import { openSemantics, type Semantics } from './open-semantics.js';

export interface ReembedRequest {
  readonly namespace: string | null;
  /** Rows that are embedded at a time, where this process does it. */
  readonly batchRows: number | null;
  readonly scheduler: Scheduler;
  readonly progress: (done: number, of: number) => void;
}

/** What is embedded, and with what. */
export interface Reembedded extends EncoderRef {
  /** Whether an earlier call was continued. */
  readonly resumed: boolean;
  readonly facts: EmbeddingFacts;
}

const POLL_MS = 250;
const NOTE = 'reembed';

/** The encoder of the settings, as its vectors name it. */
export async function targetEncoder(settings: Settings, services: Services, scheduler: Scheduler) {
  if (settings.embedBackend === 'none') {
    return fail('UNAVAILABLE', 'the embedder is switched off: set embeddings.backend');
  }
  const { clock, log } = services;
  const opened = await openEmbedder(settings, { clock, scheduler, log });
  if (!opened.ok) return failed(opened.error);
  const { model, dim } = opened.value;
  await opened.value.close();
  return ok({ model, dim } satisfies EncoderRef);
}

/**
 * Embeds memories again: with the encoder that is searched, row by row; with another one, beside the searched vectors
 * until every memory is done. A call that was interrupted is continued. The process that owns the database does the
 * work, and this one where there is none.
 */
export async function reembed(
  settings: Settings,
  services: Services,
  request: ReembedRequest,
): Promise<Result<Reembedded>> {
  const { store, log } = services;
  const target = await targetEncoder(settings, services, request.scheduler);
  if (!target.ok) return failed(target.error);
  const semantics = openSemantics(settings, store, log);
  if (semantics === null) return fail('UNAVAILABLE', 'a database in memory has no vectors');
  const before = await store.query({ kind: 'embedding-progress' });
  if (!before.ok) return failed(before.error);
  const { searched, coming } = before.value;
  const isOwned = await hasOwner(services);
  const isOther = searched !== null && searched.model !== target.value.model;
  if (isOther && isOwned && coming?.model !== target.value.model) {
    return fail(
      'CONFLICT',
      `the running node embeds with ${searched.model}: restart it with the settings for ${target.value.model}`,
    );
  }
  const resumed = isOther ? ok(coming !== null) : await requeue(services, request.namespace);
  if (!resumed.ok) return failed(resumed.error);
  const facts = await finish(services, semantics, settings, request);
  if (!facts.ok) return failed(facts.error);
  await note(services, { state: 'done' });
  return ok({ ...target.value, resumed: resumed.value, facts: facts.value });
}

/** Lets every memory wait for a new vector; true when an interrupted call is continued. */
async function requeue({ store, ...services }: Services, namespace: string | null): Promise<Result<boolean>> {
  const notes = await store.query({ kind: 'integrity-notes' });
  if (!notes.ok) return failed(notes.error);
  const last = notes.value[NOTE]?.facts;
  const continues = last?.['state'] !== 'done' && last !== undefined && last['namespace'] === namespace;
  let afterRid: number | null = continues ? (last['after_rid'] as number | null) : 0;
  while (afterRid !== null) {
    const part = await store.execute({
      kind: 'requeue-embeddings',
      afterRid,
      namespace,
      limit: REEMBED_ROWS_MAX,
    });
    if (!part.ok) return failed(part.error);
    afterRid = part.value.nextRid;
    await note({ ...services, store }, { state: 'running', namespace, after_rid: afterRid });
  }
  return ok(continues);
}

async function note({ store }: Pick<Services, 'store'>, facts: Record<string, unknown>): Promise<void> {
  await store.execute({ kind: 'note-integrity', name: NOTE, facts, audit: null });
}

/** Waits until nothing is left to embed, and embeds in this process while no other one does. */
async function finish(
  services: Services,
  semantics: Semantics,
  settings: Settings,
  { batchRows, scheduler, progress }: ReembedRequest,
): Promise<Result<EmbeddingFacts>> {
  const rows = batchRows ?? settings.embedBackfillBatch;
  const own = semantics.openLocal({ batchRows: rows, plans: true });
  let opened = false;
  try {
    for (;;) {
      const isOwned = await hasOwner(services);
      let isIdle = true;
      if (!isOwned) {
        opened = true;
        isIdle = (await own.round()).afterMs > 0;
      }
      const facts = await services.store.query({ kind: 'embedding-progress' });
      if (!facts.ok) return failed(facts.error);
      const { memories, pending, coming } = facts.value;
      if (coming !== null) progress(coming.done, coming.of);
      else progress(memories - pending, memories);
      if (pending === 0 && coming === null) return ok(facts.value);
      const { lastError } = own.state();
      if (!isOwned && isIdle && lastError !== null) {
        return fail(
          'UNAVAILABLE',
          `${lastError}; run reembed again to continue, the old vectors are searched until then`,
        );
      }
      if (isIdle)
        await new Promise<void>((resolve) => scheduler.after(POLL_MS, resolve, { keepAlive: true }));
    }
  } finally {
    if (opened) await own.close();
  }
}

async function hasOwner({ store, settings }: Services): Promise<boolean> {
  const owner = await livingOwner(store, settings);
  return owner.ok && owner.value !== null;
}
