import { CONTENT_BYTES_MAX, TAGS_MAX } from '../base/limits.js';
import { fail, ok, type Result } from '../base/result.js';
import { excerpt, utf8Bytes } from '../base/utf8.js';
import { ownerOf } from '../identity/owner.js';
import type { Kind, Memory } from '../memory/memory.js';

/**
 * Pure functions that make a consolidation from its sources (interface §4.4, decisions "Life cycle"): its text, its
 * readers and its owner.
 */

const SEPARATOR = '\n\n';
/** The bytes of a heading without its titles. */
const HEADING_BYTES = 3;

/**
 * A summary without a model: the sources in the order in which they were written, each under its title. A text that
 * several sources share appears once, under all their titles. When the sum exceeds the limit of a content, every source
 * gets an equal share, and longer sources use what shorter ones leave; cut texts end with `…`.
 */
export function plainSummary(sources: readonly Memory[]): string {
  const sections = sectionsOf(sources);
  // Headings take at most half, so that a hundred long titles leave room for their texts.
  const headBytesMax = Math.floor(CONTENT_BYTES_MAX / 2 / sections.length) - HEADING_BYTES;
  const heads = sections.map(({ titles }) => `# ${excerpt(titles.join(' / '), headBytesMax)}\n`);
  const fixed = heads.reduce((sum, head) => sum + utf8Bytes(head), SEPARATOR.length * (sections.length - 1));
  const shares = fairShares(
    sections.map(({ content }) => utf8Bytes(content)),
    CONTENT_BYTES_MAX - fixed,
  );
  return sections
    .map(({ content }, index) => heads[index] + excerpt(content, shares[index]!))
    .join(SEPARATOR);
}

function sectionsOf(sources: readonly Memory[]): { titles: string[]; content: string }[] {
  const byContent = new Map<string, string[]>();
  const ordered = [...sources].sort(
    (a, b) => compare(a.created_at, b.created_at) || compare(a.created_hlc, b.created_hlc),
  );
  for (const { title, content } of ordered) {
    const text = content.trim();
    const titles = byContent.get(text);
    if (titles === undefined) byContent.set(text, [title]);
    else if (!titles.includes(title)) titles.push(title);
  }
  return [...byContent].map(([content, titles]) => ({ titles, content }));
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

/** Splits `total`: no share exceeds its need, and a share is smaller than another only when it needs less. */
function fairShares(needs: readonly number[], total: number): number[] {
  const shares = needs.map(() => 0);
  let left = Math.max(0, total);
  const byNeed = needs.map((need, index) => ({ need, index })).sort((a, b) => a.need - b.need);
  byNeed.forEach(({ need, index }, rank) => {
    shares[index] = Math.min(need, Math.floor(left / (byNeed.length - rank)));
    left -= shares[index];
  });
  return shares;
}

/** Tags of all sources, each once, in the order of the sources; at most as many as a memory may have. */
export function unionOfTags(sources: readonly Memory[]): string[] {
  return [...new Set(sources.flatMap(({ tags }) => tags))].slice(0, TAGS_MAX);
}

/** Kinds with a meaning of their own; a plain consolidation has another kind. */
const SPECIAL_KINDS: ReadonlySet<Kind> = new Set(['reflection', 'persona', 'entity']);

/** The kind that all sources have, else observation. */
export function commonKind(sources: readonly Memory[]): Kind {
  const [first] = sources;
  const same = first !== undefined && sources.every(({ kind }) => kind === first.kind);
  return same && !SPECIAL_KINDS.has(first.kind) ? first.kind : 'observation';
}

/** The owner of the result and who may read it. */
export interface Audience {
  readonly owner: string;
  /** Absent when every agent may read it. */
  readonly scope: string | null;
}

const isOpen = ({ metadata: { scope } }: Memory) =>
  scope === undefined || scope === null || scope === 'collective';

/**
 * The audience of a consolidation, which is never wider than the audience of any source. When all sources are open, the
 * result is open and belongs to the agent that owns them all, else to the caller. A shared scope stays when all
 * restricted sources have it in the namespace of the result; any other mixture is private. FORBIDDEN when restricted
 * sources belong to different agents.
 */
export function audienceOf(sources: readonly Memory[], namespace: string, caller: string): Result<Audience> {
  const restricted = sources.filter((source) => !isOpen(source));
  if (restricted.length === 0) return ok({ owner: onlyOwner(sources) ?? caller, scope: null });
  const owners = new Set(restricted.map(ownerOf));
  if (owners.size > 1) {
    return fail('FORBIDDEN', 'private or shared memories of different agents cannot be consolidated');
  }
  return ok({ owner: onlyOwner(restricted) ?? caller, scope: narrowestScope(restricted, namespace) });
}

/**
 * A scope that is not wider than that of any source, for a memory of a namespace: none when all are open, the shared scope
 * that all restricted ones have in that namespace, else private.
 */
export function narrowestScope(sources: readonly Memory[], namespace: string): string | null {
  const restricted = sources.filter((source) => !isOpen(source));
  if (restricted.length === 0) return null;
  const scopes = new Set(restricted.map(({ metadata }) => metadata['scope']));
  const [scope] = scopes;
  const stays =
    scopes.size === 1 &&
    (scope === 'team' || scope === 'unit' || scope === 'org') &&
    restricted.every((source) => source.namespace === namespace);
  return stays ? scope : 'private';
}

function onlyOwner(sources: readonly Memory[]): string | null {
  const owners = new Set(sources.map(ownerOf));
  const [owner] = owners;
  return owners.size === 1 ? (owner ?? null) : null;
}
