import { failed, ok, type Result } from '../../../protocol/base/result.js';
import { kindOfText } from '../../../protocol/memory/classify-kind.js';
import type { Kind } from '../../../protocol/memory/memory.js';
import type { StoreJob } from '../../../protocol/memory/store.js';
import type { ReadCall } from '../../pipeline/call.js';

interface Asked {
  readonly kind: Kind;
  readonly namespace?: string | undefined;
  readonly content: string;
}

/** What becomes of the kind of a new memory. */
export interface ClassifiedKind {
  /** The kind that its words say; null where it stays what it is. */
  readonly kind: Kind | null;
  /** Has a model say it later. */
  readonly jobs: readonly StoreJob[];
}

/**
 * The kind of a memory where the policy of its namespace wants that it is found (`auto_classify_kind`): by its words, else by a
 * model after the store. A kind that was stated stays, and one that the author signed.
 */
export async function classifiedKind(call: ReadCall, asked: Asked): Promise<Result<ClassifiedKind>> {
  if (asked.kind !== 'observation' || call.attestation.signature !== null) return ok(AS_IT_IS);
  const { store, settings, models } = call.services;
  const namespace = asked.namespace ?? settings.defaultNamespace;
  const found = await store.query({ kind: 'governance-at', namespaces: [namespace] });
  if (!found.ok) return failed(found.error);
  const mode = found.value.governance[0]!['auto_classify_kind'] ?? 'off';
  if (mode === 'off') return ok(AS_IT_IS);
  const kind = kindOfText(asked.content);
  const isAsked = kind === null && mode === 'regex_then_llm' && models.missing('classify_kind') === null;
  return ok({ kind, jobs: isAsked ? [{ type: 'classify_kind', input: {} }] : [] });
}

const AS_IT_IS: ClassifiedKind = { kind: null, jobs: [] };
