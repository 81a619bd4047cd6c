import type { Crypto } from '../../protocol/base/seams.js';
import type { HttpBinding } from '../pipeline/operation.js';

/** A longer body has no tag: its digest would cost more than it saves. */
const BODY_LENGTH_MAX = 256 * 1024;
/** Enough of a digest that two answers do not share it by accident. */
const DIGEST_LENGTH = 20;

/**
 * The entity tag of the answer to a GET: that of a memory begins with its version, so that `If-Match` takes it; another is a
 * digest of the body. Null where none helps, because each answer is another one, or the body is long.
 */
export function entityTag(
  { method, tag }: HttpBinding,
  answer: Readonly<Record<string, unknown>>,
  body: string,
  crypto: Pick<Crypto, 'sha256Hex'>,
): string | null {
  if (method !== 'GET' || tag === 'none') return null;
  const digest = (text: string) => crypto.sha256Hex(text).slice(0, DIGEST_LENGTH);
  if (tag !== undefined) {
    const { version, content } = tag(answer);
    return `"${version}-${digest(JSON.stringify(content))}"`;
  }
  // The same bytes may leave compressed, so it says less than byte for byte.
  return body.length <= BODY_LENGTH_MAX ? `W/"${digest(body)}"` : null;
}

/** True where the client has that answer already: `If-None-Match` names it, or any. */
export function isKnown(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const opaque = (one: string) => one.trim().replace(/^W\//, '');
  return ifNoneMatch.split(',').some((one) => one.trim() === '*' || opaque(one) === opaque(tag));
}
