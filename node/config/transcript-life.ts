import { namespaceNameProblem } from '../../protocol/base/ids.js';
import { TRANSCRIPT_TTL_SECONDS_MAX } from '../../protocol/transcripts/limits.js';

/** The times of transcripts in the namespaces of a pattern; null leaves a time as it is elsewhere. */
export interface TranscriptLife {
  readonly pattern: string;
  readonly ttlSeconds: number | null;
  readonly graceSeconds: number | null;
}

const KEYS = new Set(['pattern', 'default_ttl_secs', 'archive_grace_secs']);

/** The times that a section `[transcripts.namespaces."<pattern>"]` sets, or what is wrong with it. */
export function transcriptLifeOf(table: Readonly<Record<string, unknown>>): TranscriptLife | string {
  const { pattern, default_ttl_secs: ttl = null, archive_grace_secs: grace = null } = table;
  const unknown = Object.keys(table).find((key) => !KEYS.has(key));
  if (unknown !== undefined) return `"${String(pattern)}" has the unknown key "${unknown}"`;
  const name = String(pattern);
  const problem = name === '*' ? null : namespaceNameProblem(name.endsWith('/*') ? name.slice(0, -2) : name);
  if (problem !== null) return `"${name}" is no namespace, "prefix/*" or "*": ${problem}`;
  if (!isSeconds(ttl, 1)) return `"${name}" needs whole seconds as default_ttl_secs`;
  if (!isSeconds(grace, 0)) return `"${name}" needs whole seconds as archive_grace_secs`;
  return { pattern: name, ttlSeconds: ttl, graceSeconds: grace };
}

const isSeconds = (value: unknown, min: number): value is number | null =>
  value === null ||
  (Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= TRANSCRIPT_TTL_SECONDS_MAX);

/** The settings that say how long transcripts are kept. */
export interface TranscriptSettings {
  readonly transcriptTtlSeconds: number;
  readonly transcriptGraceSeconds: number;
  readonly transcriptNamespaces: readonly TranscriptLife[];
}

/** How long a transcript of a namespace is kept, and how long when it is archived. */
export function transcriptLife(settings: TranscriptSettings, namespace: string) {
  const fitting = settings.transcriptNamespaces
    .filter(({ pattern }) => covers(pattern, namespace))
    .toSorted((a, b) => rank(b.pattern) - rank(a.pattern));
  const first = (time: 'ttlSeconds' | 'graceSeconds') =>
    fitting.find((life) => life[time] !== null)?.[time] ?? null;
  return {
    ttlSeconds: first('ttlSeconds') ?? settings.transcriptTtlSeconds,
    graceSeconds: first('graceSeconds') ?? settings.transcriptGraceSeconds,
  };
}

const covers = (pattern: string, namespace: string): boolean =>
  pattern === '*' ||
  pattern === namespace ||
  (pattern.endsWith('/*') && namespace.startsWith(pattern.slice(0, -1)));

/** A name goes before each prefix, and a longer prefix before a shorter one. */
const rank = (pattern: string): number =>
  pattern === '*' ? 0 : pattern.endsWith('/*') ? pattern.length : Number.MAX_SAFE_INTEGER;
