/** How much time the whole chain of an event has. */
export const CLASS_DEADLINES_MS = {
  write: 5000,
  read: 2000,
  index: 1000,
  transcript: 5000,
  hot: 50,
} as const;

export type HookClass = keyof typeof CLASS_DEADLINES_MS;

interface HookEventRow {
  readonly class: HookClass;
  /** The members of the payload that a hook may rewrite; none for an event that only tells. */
  readonly rewrites: readonly string[];
  /** What a denial says is refused, where callers know the event by that; a question to the operator is a denial too. */
  readonly refuses?: string;
  /** Members that a delta calls by another name: name in the delta to name in the payload. */
  readonly deltaNames?: Readonly<Record<string, string>>;
}

const event = (
  eventClass: HookClass,
  rewrites: readonly string[] = [],
  deltaNames?: Readonly<Record<string, string>>,
): HookEventRow => ({ class: eventClass, rewrites, ...(deltaNames === undefined ? {} : { deltaNames }) });

const STORED = ['tier', 'namespace', 'title', 'content', 'tags', 'priority', 'confidence'] as const;
const SIGNAL = ['namespace', 'to_agent', 'subject', 'body', 'signal_type'] as const;

/** The 27 events of the service (interface §6.2, reference-mcp-cli §3.1), and one of its own about what reads answer. */
export const HOOK_EVENTS = {
  pre_store: event('write', [...STORED, 'source', 'expires_at', 'metadata']),
  post_store: event('write'),
  pre_recall: event('read', ['query', 'namespace', 'limit', 'tier', 'tags', 'budget_tokens']),
  post_recall: event('read'),
  pre_search: event('read', ['query', 'namespace', 'limit', 'tags']),
  post_search: event('read'),
  pre_delete: event('write'),
  post_delete: event('write'),
  pre_promote: event('write'),
  post_promote: event('write'),
  pre_link: event('write', ['source_id', 'target_id', 'relation']),
  post_link: event('write'),
  pre_consolidate: event('write', ['namespace', 'candidate_ids']),
  post_consolidate: event('write'),
  // A policy is evaluated inside the write transaction, for the command as it is, so nothing of it can be rewritten.
  pre_governance_decision: event('write'),
  post_governance_decision: event('write'),
  on_index_eviction: event('index'),
  pre_archive: event('write', ['id']),
  pre_transcript_store: event('transcript', ['namespace', 'content', 'ttl_secs']),
  post_transcript_store: event('transcript'),
  pre_recall_expand: event('hot', ['query', 'namespace', 'k'], { content: 'query', priority: 'k' }),
  pre_reflect: event('write', [...STORED, 'metadata']),
  post_reflect: event('write'),
  pre_compaction: event('write', ['pass_name', 'candidate_ids', 'namespace']),
  on_compaction_rollback: event('write'),
  pre_signal_send: {
    ...event('write', [...SIGNAL, 'in_reply_to', 'correlation_id', 'reference_ids']),
    refuses: 'signal',
  },
  post_signal_ack: event('write'),
  pre_answer: event('read', ['memories']),
} as const satisfies Record<string, HookEventRow>;

export type HookEvent = keyof typeof HOOK_EVENTS;

/** Events that nothing fires in this release, and what they wait for. */
export const UNFIRED_EVENTS: Readonly<Partial<Record<HookEvent, string>>> = {
  on_index_eviction: 'the vector index drops nothing for lack of room',
};

export const HOOK_EVENT_NAMES = Object.keys(HOOK_EVENTS) as HookEvent[];

export const isHookEvent = (value: unknown): value is HookEvent =>
  typeof value === 'string' && Object.hasOwn(HOOK_EVENTS, value);

export const hookEventRow = (name: HookEvent): HookEventRow => HOOK_EVENTS[name];

/** True for events whose hooks can refuse; hooks of other events are only notified. */
export const decides = (name: HookEvent): boolean => name.startsWith('pre_');

/** Events whose hooks are children that stay, unless their entry says otherwise. */
const USUALLY_DAEMON: ReadonlySet<HookEvent> = new Set(['post_recall', 'post_search', 'pre_recall_expand']);

export const usualMode = (name: HookEvent): 'exec' | 'daemon' =>
  USUALLY_DAEMON.has(name) ? 'daemon' : 'exec';
