import { createHash } from 'node:crypto';
import { canonicalJson } from '../../protocol/base/canonical-json.js';

/** The members that tell what somebody wrote. */
const CONTENT: ReadonlySet<string> = new Set([
  ...[
    'title',
    'content',
    'metadata',
    'tags',
    'citations',
    'source_uri',
    'source_span',
    'passage',
    'text',
    'standard',
  ],
]);

/** A value in which each member that tells content is replaced by its hash, so that it can be compared and not read. */
export function withoutContent(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutContent);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      CONTENT.has(name) && member !== null ? { sha256: hashOf(member) } : withoutContent(member),
    ]),
  );
}

const hashOf = (value: unknown): string =>
  createHash('sha256')
    .update(typeof value === 'string' ? value : canonicalJson(value as never))
    .digest('hex');
