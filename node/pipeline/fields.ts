import { z } from 'zod';
import {
  agentIdProblem,
  hasControlCharacter,
  isBlank,
  isReservedNamespace,
  memoryIdProblem,
  namespaceNameProblem,
  subtreeProblem,
  subtreeRoot,
} from '../../protocol/base/ids.js';
import * as limits from '../../protocol/base/limits.js';
import { canonicalInstant } from '../../protocol/base/time.js';
import { characters } from '../../protocol/base/utf8.js';
import { KINDS, SCOPES, TIERS } from '../../protocol/memory/memory.js';

/**
 * The fields that operations share, each with its rules (interface §2.1, reference-http §2.1). Instants become
 * canonical; other values stay as they are.
 */

const utf8Length = (text: string) => Buffer.byteLength(text, 'utf8');

/** Text without lone surrogates, which no UTF-8 store can hold. */
const text = () => z.string().refine((value) => value.isWellFormed(), 'must be valid Unicode text');

/**
 * Text by which things are found. Names that look alike are one name, so it becomes NFC here; a signature of another
 * form then does not fit.
 */
const name = () =>
  z
    .string()
    .normalize('NFC')
    .refine((value) => value.isWellFormed(), 'must be valid Unicode text');

/** Turns a "problem or null" function into a schema. */
const checked = (problem: (value: string) => string | null) =>
  name().superRefine((value, context) => {
    const message = problem(value);
    if (message !== null) context.addIssue({ code: 'custom', message });
  });

export const memoryId = checked(memoryIdProblem).describe('Memory id, or the beginning of exactly one');

const version = z.int().min(1).describe('Only when the memory still has this version');

/** A version as If-Match carries it: digits, quotes optional, `W/` not; or the whole entity tag, which begins with it. */
export const expectedVersion = z
  .union(
    [
      version,
      z
        .string()
        .regex(/^(?:"\d{1,15}(?:-[0-9a-f]{1,64})?"|\d{1,15})$/, 'must be an integer version')
        .transform((value) => Number(/\d+/.exec(value)![0])),
    ],
    { error: 'must be an integer version' },
  )
  .describe('Only when the memory still has this version');

export const agentId = checked(agentIdProblem).describe('Agent id');
export const namespace = checked((value) =>
  subtreeRoot(value) === null
    ? namespaceNameProblem(value)
    : 'namespace must name one namespace here: only recall, list, search, forget and export take /**',
).describe('Namespace, such as team/alpha');
export const namespaceOrSubtree = checked(subtreeProblem).describe(
  'This namespace; with /** at its end, it and all namespaces below it',
);
export const tier = z
  .enum(TIERS)
  .describe('How long it is kept: short for hours, mid for months, long for good');
export const kind = z.enum(KINDS).describe('What sort of memory it is');
export const scope = z.enum(SCOPES).describe('Who may read it; only its owner if private');

export const title = name()
  .refine((value) => !isBlank(value), 'must not be blank')
  .refine(
    (value) => characters(value) <= limits.TITLE_LENGTH_MAX,
    `must be at most ${limits.TITLE_LENGTH_MAX} characters`,
  )
  .refine((value) => !hasControlCharacter(value), 'must not hold control characters')
  .transform((value) => value.trim())
  .describe('Title, unique in its namespace');

export const content = text()
  .refine((value) => !isBlank(value), 'must not be blank')
  .refine(
    (value) => utf8Length(value) <= limits.CONTENT_BYTES_MAX,
    `must be at most ${limits.CONTENT_BYTES_MAX} bytes`,
  )
  .refine((value) => !hasControlCharacter(value, '\n\r\t'), 'must not hold control characters')
  .describe('Text of the memory');

const tag = name()
  .transform((value) => value.trim())
  .refine((value) => !isBlank(value), 'must not be blank')
  .refine(
    (value) => utf8Length(value) <= limits.TAG_BYTES_MAX,
    `must be at most ${limits.TAG_BYTES_MAX} bytes`,
  )
  .refine((value) => !hasControlCharacter(value), 'must not hold control characters');

export const tags = z
  .array(tag)
  .max(limits.TAGS_MAX)
  .transform((values) => [...new Set(values)])
  .describe('Words to filter by');

export const priority = z
  .int()
  .min(limits.PRIORITY_MIN)
  .max(limits.PRIORITY_MAX)
  .describe('Importance, 1 to 10');
export const confidence = z.number().min(0).max(1).describe('Confidence, 0 to 1');

export const source = text()
  .refine((value) => !isBlank(value), 'must not be blank')
  .refine(
    (value) => utf8Length(value) <= limits.SOURCE_BYTES_MAX,
    `must be at most ${limits.SOURCE_BYTES_MAX} bytes`,
  )
  .refine((value) => !hasControlCharacter(value), 'must not hold control characters')
  .describe('Where it comes from, such as a program');

export const ttlSecs = z
  .int()
  .min(limits.TTL_SECONDS_MIN)
  .max(limits.TTL_SECONDS_MAX)
  .describe('Seconds until the memory expires');

const uriOf = (schemes: RegExp, problem: string) =>
  text()
    .refine((value) => schemes.test(value), problem)
    .refine(
      (value) => utf8Length(value) <= limits.SOURCE_URI_BYTES_MAX,
      `must be at most ${limits.SOURCE_URI_BYTES_MAX} bytes`,
    )
    .refine((value) => !hasControlCharacter(value), 'must not hold control characters');

export const sourceUri = uriOf(/^(uri|doc|file):/, 'must start with uri:, doc: or file:').describe(
  'Address of the source: uri:, doc: or file:',
);

export const entityId = name()
  .refine((value) => !isBlank(value), 'must not be blank')
  .refine(
    (value) => value.length <= limits.ID_LENGTH_MAX,
    `must be at most ${limits.ID_LENGTH_MAX} characters`,
  )
  .refine((value) => !hasControlCharacter(value), 'must not hold control characters')
  .describe('Entity that the memory is about');

export const sourceUriPrefix = text()
  .refine((value) => value !== '', 'must not be empty')
  .refine(
    (value) => utf8Length(value) <= limits.SOURCE_URI_BYTES_MAX,
    `must be at most ${limits.SOURCE_URI_BYTES_MAX} bytes`,
  )
  .describe('Only memories whose source_uri begins with this text');

export const includeArchived = z.boolean().describe('Also memories that were split into atoms');

export const sessionId = text()
  .refine((value) => !isBlank(value), 'must not be blank')
  .refine(
    (value) => value.length <= limits.SESSION_ID_LENGTH_MAX,
    `must be at most ${limits.SESSION_ID_LENGTH_MAX} characters`,
  )
  .describe('Session whose earlier recalls get a small boost');

export const recallId = text()
  .refine((value) => /^[0-9a-f-]{36}$/i.test(value), 'must be a UUID')
  .transform((value) => value.toLowerCase())
  .describe('The recall_id of an earlier recall');

/** The number of damaged rows that an answer leaves out. */
export const omittedDamaged = {
  omitted_damaged: z
    .int()
    .describe('Damaged rows that are left out; they are repaired in the background')
    .optional(),
} as const;

/** Memories that say nearly the same as another one. */
export const nearDuplicates = z.array(
  z.object({
    id: z.string(),
    title: z.string(),
    similarity: z.number().describe('The share of common words, up to 1'),
  }),
);

/** Where the memories are when the named namespace has none. */
export const namespacesBelow = {
  namespaces_below: z
    .array(z.string())
    .describe(
      'With an empty answer: namespaces below the named one that hold memories; name it with /** to cover them',
    )
    .optional(),
  namespace_meant: z
    .string()
    .describe('With an empty answer: a namespace with nearly the same name that holds memories')
    .optional(),
} as const;

/** The sign of a list that ends early because of its size; every list that a tool answers has it. */
export const listEnd = {
  truncated: z.literal(true).describe('There are more rows than one answer holds').optional(),
} as const;

/** The same for a list with an offset. */
export const pageEnd = {
  ...listEnd,
  next_offset: z.int().optional(),
} as const;

/** How people mean an instant of a field where they write it in words: the command line reads those. */
export interface InstantMeaning {
  /** The direction of a span that says none, such as `7d`. */
  readonly span: 'ago' | 'ahead' | 'either';
  /** Which instant of a day is meant. */
  readonly day: 'begin' | 'end';
  /** True where a date can mean only that instant: then every surface takes it. */
  readonly dates: boolean;
}

/** A date without a time. */
const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** The instant of a day that a field means by its date; null for another text. */
export const instantOfDate = (text: string, { day }: Pick<InstantMeaning, 'day'>): string | null =>
  DATE.test(text) ? `${text}${day === 'end' ? 'T23:59:59.999Z' : 'T00:00:00.000Z'}` : null;

const INSTANTS = z.registry<InstantMeaning>();

/** An RFC 3339 instant with an offset, made canonical. */
export const instant = z
  .string()
  .transform((value, context) => {
    const canonical = canonicalInstant(value);
    if (canonical === null) {
      context.addIssue({ code: 'custom', message: 'must be an RFC 3339 instant with an offset' });
      return z.NEVER;
    }
    return canonical;
  })
  .describe('RFC 3339 instant')
  .register(INSTANTS, { span: 'either', day: 'begin', dates: false });

const meant = (meaning: InstantMeaning) => instant.describe('RFC 3339 instant').register(INSTANTS, meaning);

/** An instant that lies in the past, as nearly always. */
export const pastInstant = meant({ span: 'ago', day: 'begin', dates: false });
/** Since when, the instant included: a day is meant with its beginning. */
export const pastBegin = meant({ span: 'ago', day: 'begin', dates: true });
/** Until when, the instant included: a day is meant with its end. */
export const pastEnd = meant({ span: 'ago', day: 'end', dates: true });
/** An instant that is still to come. */
export const comingInstant = meant({ span: 'ahead', day: 'begin', dates: false });
/** Since when something holds, perhaps not yet: a day is meant with its beginning. */
export const beginning = meant({ span: 'either', day: 'begin', dates: true });

/** The time in which a memory holds. */
export const validity = {
  valid_from: beginning.describe('Since when it holds; open unless given').optional(),
  valid_until: beginning.describe('Until when it holds; open unless given').optional(),
} as const;

/** At which instant a memory must hold. */
export const asOf = meant({ span: 'ago', day: 'begin', dates: true })
  .describe('Only what holds at this instant')
  .optional();

/** The number of a version, or the id of the operation that wrote it. */
export const versionName = (lengthMax: number) =>
  z.union([z.int().min(1).transform(String), z.string().min(1).max(lengthMax)]);

/** At which instant it must have been known. */
export const knownAt = meant({ span: 'ago', day: 'end', dates: true })
  .describe('As it was known at this instant')
  .optional();

/** How people mean the instant that a field takes; null for a field of another kind. */
export function instantMeaning(schema: z.core.$ZodType): InstantMeaning | null {
  const own = INSTANTS.get(schema as typeof instant);
  if (own !== undefined) return own;
  const { innerType, options = [] } = schema._zod.def as {
    readonly innerType?: z.core.$ZodType;
    readonly options?: readonly z.core.$ZodType[];
  };
  const inner = [...(innerType === undefined ? [] : [innerType]), ...options];
  return inner.map(instantMeaning).find((meaning) => meaning !== null) ?? null;
}

const span = z
  .object({ start: z.int().min(0), end: z.int().min(0) })
  .refine((value) => value.start < value.end, 'start must be below end');

export const sourceSpan = span.describe('Byte range of the text in its source');

export const citations = z
  .array(
    z.object({
      uri: uriOf(/^(uri|doc|file|https?):/, 'must start with uri:, doc:, file:, http: or https:'),
      accessed_at: instant,
      hash: z
        .string()
        .regex(/^[0-9a-f]{64}$/i)
        .optional(),
      span: span.optional(),
    }),
  )
  .max(limits.CITATIONS_MAX)
  .describe('Sources that the memory cites');

/** A JSON object within the limits of metadata: bytes, depth, and values that every store and peer can hold. */
export const metadata = z
  .custom<Record<string, unknown>>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    'must be a JSON object',
  )
  .superRefine((value, context) => {
    const message = metadataProblem(value);
    if (message !== null) context.addIssue({ code: 'custom', message });
  })
  .meta({ type: 'object', description: 'Further facts, as any JSON object' });

/** Keys that decide who may read; a value other than text could mean different things to different readers. */
const GATE_KEYS = ['scope', 'target_agent_id', 'recipient_agent_id'] as const;

function metadataProblem(value: Record<string, unknown>): string | null {
  for (const key of GATE_KEYS) {
    const gate = value[key];
    if (gate !== undefined && gate !== null && typeof gate !== 'string') return `${key} must be text`;
  }
  return objectProblem(value);
}

/** What is wrong with a JSON object: a value that some store or peer cannot hold, its depth, or its bytes. */
export function objectProblem(
  value: Readonly<Record<string, unknown>>,
  bytesMax = limits.METADATA_BYTES_MAX,
): string | null {
  return valueProblem(value, bytesMax);
}

function valueProblem(value: unknown, bytesMax: number): string | null {
  const problem = jsonProblem(value, limits.METADATA_DEPTH_MAX);
  if (problem !== null) return problem;
  return utf8Length(JSON.stringify(value)) <= bytesMax ? null : `must be at most ${bytesMax} bytes`;
}

/** What is wrong with a JSON value. It stops at `depth`, so that a hostile value cannot exhaust the stack. */
function jsonProblem(value: unknown, depth: number): string | null {
  if (typeof value === 'string') return value.isWellFormed() ? null : 'must be valid Unicode text';
  if (typeof value === 'number') return Number.isFinite(value) ? null : 'must only hold finite numbers';
  if (value === null || typeof value !== 'object') return null;
  if (depth <= 0) return `must be at most ${limits.METADATA_DEPTH_MAX} levels deep`;
  for (const [key, member] of Object.entries(value)) {
    // Assigning it would change an object's prototype instead of adding a key.
    if (key === '__proto__') return 'must not hold the key "__proto__"';
    const problem = key.isWellFormed() ? jsonProblem(member, depth - 1) : 'must be valid Unicode text';
    if (problem !== null) return problem;
  }
  return null;
}

/** A JSON object of at most so many bytes, with values that every store and peer can hold. */
export const jsonObject = (bytesMax: number) =>
  z
    .custom<Record<string, unknown>>(
      (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
      'must be a JSON object',
    )
    .superRefine((value, context) => {
      const message = objectProblem(value, bytesMax);
      if (message !== null) context.addIssue({ code: 'custom', message });
    })
    .meta({ type: 'object' });

/** Any JSON of at most so many bytes, with values that every store and peer can hold. */
export const jsonValue = (bytesMax: number) =>
  z.unknown().superRefine((value, context) => {
    const message = valueProblem(value ?? null, bytesMax);
    if (message !== null) context.addIssue({ code: 'custom', message });
  });

/** A short text that names something: not blank, without control characters. */
export const words = (bytesMax: number) =>
  name()
    .refine((value) => !isBlank(value), 'must not be blank')
    .refine((value) => utf8Length(value) <= bytesMax, `must be at most ${bytesMax} bytes`)
    .refine((value) => !hasControlCharacter(value), 'must not hold control characters');

/** A namespace for new records; the service's own are refused. */
export const ordinaryNamespace = namespace.refine(
  (value) => !isReservedNamespace(value),
  'namespaces that begin with "_" are the service\'s own',
);

/** Members of an imported row that this release does not know: any JSON within the limits of metadata. */
export const unknownMembers = jsonObject(limits.METADATA_BYTES_MAX);

/** A query text; content other than words is harmless, so only its length and encoding are checked. */
export const queryText = text().refine(
  (value) => value.length <= limits.QUERY_LENGTH_MAX,
  `must be at most ${limits.QUERY_LENGTH_MAX} characters`,
);

/** A list, or one comma-separated text; duplicates are dropped, at most `max` words remain. */
export const wordList = (max: number) =>
  z
    .union([z.array(name()), name().transform((value) => value.split(','))])
    .transform((values) => [
      ...new Set(values.map((value) => value.trim()).filter((value) => !isBlank(value))),
    ])
    .refine((values) => values.length <= max, `must hold at most ${max} words`)
    .refine(
      (values) => values.every((value) => utf8Length(value) <= limits.TAG_BYTES_MAX),
      `each word must be at most ${limits.TAG_BYTES_MAX} bytes`,
    );

/** The limit of a list: more than its maximum is cut to it, as its description says. */
export const listLimit = (usual: number, max: number, what = 'rows') =>
  z
    .int()
    .min(1)
    .default(usual)
    .transform((value) => Math.min(value, max))
    .describe(`At most this many ${what}; ${max} is the most`);

/** Tags to filter by. */
export const tagFilter = wordList(limits.TAGS_MAX).describe('Only memories with any of these tags');

const KIND_WORDS: ReadonlySet<string> = new Set(['all', ...KINDS]);
export const kindFilter = wordList(KINDS.length + 1)
  .refine(
    (words) => words.every((word) => KIND_WORDS.has(word.toLowerCase())),
    `must be kinds: all, ${KINDS.join(', ')}`,
  )
  .describe('Only these kinds of memories');

const FORMATS = ['json', 'toon', 'toon_compact'] as const;
export const format = z.enum(FORMATS).describe('Shape of the answer');

const PICTURE_FORMATS = ['json', 'dot', 'mermaid'] as const;
export const pictureFormat = z
  .enum(PICTURE_FORMATS)
  .describe('Shape of the answer: json, or a drawing as dot or mermaid');

/** The two axes of time of a question about the graph. */
export const moment = {
  valid_at: pastInstant.describe('Only links that hold at this instant; now unless given').optional(),
  believed_at: pastInstant.describe('Answer as of what was recorded by this instant').optional(),
} as const;

export const includeInvalidated = z
  .boolean()
  .default(false)
  .describe('Without valid_at: also links that ended');

/** How many memories a namespace has. */
export const namespaceCount = z.object({ namespace: z.string(), count: z.int() });

/** A memory in an answer. Open to other members, because unset fields are left out. */
export const memoryOutput = z
  .looseObject({
    id: z.string(),
    tier: z.string(),
    namespace: z.string(),
    title: z.string(),
    content: z.string(),
    tags: z.array(z.string()),
    priority: z.number(),
    confidence: z.number(),
    source: z.string(),
    access_count: z.number(),
    created_at: z.string(),
    updated_at: z.string(),
    last_accessed_at: z.string().optional(),
    expires_at: z.string().optional(),
    valid_from: z.string().optional(),
    valid_until: z.string().optional(),
    conversation: z.string().optional(),
    turn: z.int().optional(),
    validity: z.enum(['ended', 'not_begun']).describe('Only of a memory that does not hold now').optional(),
    metadata: z.record(z.string(), z.unknown()),
    kind: z.string(),
    version: z.number(),
  })
  .describe('A memory (interface §2.1)');
