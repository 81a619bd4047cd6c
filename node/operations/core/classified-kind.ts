import { failed, ok, type Result } from '../../../protocol/base/result.js';
import { kindOfText } from '../../../protocol/memory/classify-kind.js';
import type { Kind } from '../../../protocol/memory/memory.js';
import type { ReadCall } from '../../pipeline/call.js';

interface Asked {
  readonly kind: Kind;
  readonly namespace?: string | undefined;
  readonly content: string;
}

/**
 * The kind that the words of a memory say, where the policy of its namespace wants that (`auto_classify_kind`); null where it
 * stays what it is. A kind that was stated stays, and one that the author signed.
 */
export async function classifiedKind(call: ReadCall, asked: Asked): Promise<Result<Kind | null>> {
  if (asked.kind !== 'observation' || call.attestation.signature !== null) return ok(null);
  const { store, settings } = call.services;
  const namespace = asked.namespace ?? settings.defaultNamespace;
  const found = await store.query({ kind: 'governance-at', namespaces: [namespace] });
  if (!found.ok) return failed(found.error);
  const mode = found.value.governance[0]!['auto_classify_kind'] ?? 'off';
  return ok(mode === 'off' ? null : kindOfText(asked.content));
}
