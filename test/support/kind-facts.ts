import type { Json } from './told.js';

/** What the audit knows of a kind: plain facts, which it does not ask the product for. */
export interface KindFacts {
  readonly name: string;
  /** Words of operations that say what a subject is. */
  readonly puts: readonly string[];
  /** Words of operations that end a subject; what went out of scope counts as ended by the first. */
  readonly drops: readonly string[];
  /** Those of them beside which nothing else counts, whatever has seen what. */
  readonly finals: readonly string[];
  /** Words of operations that change no row. */
  readonly notes: readonly string[];
  /** True where only the home of a subject writes it: its versions carry `home_number`, 0 when it is absent. */
  readonly home: boolean;
  readonly rows: 'memories' | 'memory_links' | 'records';
  /** The members of an image, each with what a text means that lacks it. */
  readonly image: Json;
  /** Members that came after the first format of the kind, which a text leaves out while they hold this. */
  readonly later: Json;
  /** The member that makes a living version stand before those in which it is null; null where none does. */
  readonly prevails: string | null;
  /** What several living versions come to, for members that do not follow the latest. */
  readonly joins: Readonly<Record<string, 'union' | 'greatest' | 'latest or never' | 'earliest known'>>;
  /** The members of what a removal says besides its subject and reason, likewise. */
  readonly removal: Json;
  /** The member that names whose storage bytes a record counts for; null where it counts for nobody's. */
  readonly charged: string | null;
  /** The id of the subject, with its members in braces; null where only the operation's header names it. */
  readonly id: string | null;
}

const MEMORY_LATER: Json = { valid_from: null, valid_until: null, conversation: null, turn: null };

const MEMORY_IMAGE: Json = {
  ...{ id: '', namespace: '', title: '', content: '', source: 'api', created_at: '', updated_at: '' },
  ...{ tier: 'mid', tags: [], priority: 5, confidence: 1, expires_at: null, metadata: {}, version: 1 },
  ...{ kind: 'observation', reflection_depth: 0, atomised_into: null, atom_of: null, entity_id: null },
  ...{ persona_version: null, citations: [], source_uri: null, source_span: null },
  ...{ confidence_source: 'caller_provided', confidence_signals: null, confidence_decayed_at: null },
  ...{ mentioned_entity_id: null, write_signature: null, created_hlc: '', edited: '' },
  ...MEMORY_LATER,
};

const LINK_LATER: Json = {
  public_key: null,
  retired_at: null,
  believed_until: null,
  believed_from: null,
  earlier: [],
};

const LINK_IMAGE: Json = {
  ...{ source_id: '', target_id: '', relation: 'related_to', created_at: '', valid_from: null },
  ...{ valid_until: null, observed_by: null, signature: null, attest_level: 'unsigned', signed_at: null },
  ...LINK_LATER,
};

type RecordFacts = Pick<KindFacts, 'home' | 'id' | 'later' | 'joins' | 'charged'>;

/** A kind whose rows are records, with the words `<name>.put` and `<name>.drop`. */
export function recordFacts(
  name: string,
  image: Json,
  { home = false, id = null, later = {}, joins = {}, charged = null }: Partial<RecordFacts> = {},
): KindFacts {
  const words = { puts: [`${name}.put`], drops: [`${name}.drop`], finals: [], notes: [] };
  const none = { prevails: null, removal: {} };
  return { name, ...words, home, rows: 'records', image, later, joins, ...none, charged, id };
}

/**
 * The id of the subject that an image or a row is of. A member with a bar is left out, bar and all, while it is empty; of
 * two with a question mark between them, the second counts where the first is null.
 */
export const idOf = (template: string, members: Json): string =>
  template
    .replace(/\{(\w+)\?(\w+)\}/g, (_, first: string, second: string) =>
      String(members[first] ?? members[second]),
    )
    .replace(/\{(\w+)(\|?)\}/g, (_, member: string, bar: string) =>
      bar === '|' && members[member] === '' ? '' : `${String(members[member])}${bar}`,
    );

export const MEMORY: KindFacts = {
  name: 'memory',
  puts: ['store', 'update', 'promote', 'life', 'restore'],
  drops: ['delete', 'expire', 'archive', 'erase'],
  finals: ['erase'],
  notes: ['purge'],
  home: false,
  rows: 'memories',
  image: MEMORY_IMAGE,
  later: MEMORY_LATER,
  prevails: null,
  // What a memory comes to is more than that (memory-meaning.ts).
  joins: {},
  removal: { title: '', expires_at: null, version: 1 },
  charged: null,
  id: '{id}',
};

export const LINK: KindFacts = {
  name: 'link',
  puts: ['link', 'link.invalidate'],
  drops: ['link.drop'],
  finals: [],
  notes: [],
  home: false,
  rows: 'memory_links',
  image: LINK_IMAGE,
  later: LINK_LATER,
  prevails: 'retired_at',
  joins: {},
  removal: {},
  charged: null,
  id: '{source_id}|{target_id}|{relation}',
};

export const STANDARD = recordFacts(
  'standard',
  { namespace: '', standard_id: null, parent_namespace: null, set_by: null, updated_at: '' },
  { id: '{namespace}', later: { governance: null, operator_set: null } },
);

export const ADOPTION = recordFacts(
  'adoption',
  { peer_id: '', home: '', number: 1, adopted_at: '', adopted_by: '' },
  { id: '{home}/{peer_id}/{number}' },
);

export const ALIAS = recordFacts(
  'alias',
  { memory_id: '', namespace: '', alias: '', folded: '', digest: null, added_by: null, added_at: '' },
  { id: '{memory_id}|{digest?folded}', later: { digest: null } },
);

const PENDING_LATER: Json = { written_as: null, reads: [], becomes: [], asked: [] };

export const PENDING = recordFacts(
  'pending',
  {
    ...{ pending_id: '', action_type: '', namespace: '', memory_id: null, command: {}, approver: {} },
    ...{ requested_by: null, requested_at: '', expires_at: '', status: 'pending', approvals: [] },
    ...{ decided_by: null, decided_at: null, remember: null },
    ...PENDING_LATER,
  },
  { home: true, later: PENDING_LATER },
);

export const VOTE = recordFacts(
  'vote',
  {
    ...{ pending_id: '', namespace: '', agent_id: '', voter: '', decision: 'deny', remember: 'once' },
    voted_at: '',
  },
  { id: '{pending_id}|{voter}' },
);

export const REMEMBERED = recordFacts(
  'remembered',
  {
    ...{ namespace: '', action_type: '', agent_id: '', decision: 'deny', lasts: 'forever', session: '' },
    ...{ decided_by: '', decided_at: '', gate: '', approver: {} },
  },
  { id: '{action_type}|{gate|}{agent_id}|{namespace}', later: { gate: '', approver: {} } },
);

export const RULE = recordFacts(
  'rule',
  {
    ...{ rule_id: '', rule_kind: '', matcher: {}, severity: 'refuse', reason: '', for_namespace: '_global' },
    ...{ created_by: '', created_at: '', updated_at: '', enabled: false },
    ...{ signature: null, attest_level: 'unsigned' },
  },
  { id: '{rule_id}' },
);

export const RECEIPT = recordFacts(
  'receipt',
  { memory_id: '', reader: null, read_at: '', updated_at: '' },
  { id: '{memory_id}' },
);

export const ACTION = recordFacts(
  'action',
  {
    ...{ action_id: '', namespace: '', action_kind: '', title: '', payload: '{}', priority: 0 },
    ...{ state: 'pending', agent_id: null, created_by: '', claimed_by: null, metadata: {} },
    ...{ created_at: '', updated_at: '', last: null },
  },
  { home: true, charged: 'created_by' },
);

export const ACTION_EDGE = recordFacts(
  'action_edge',
  { from_action: '', to_action: '', edge_type: 'sibling', namespace: '', created_by: '', created_at: '' },
  { id: '{from_action}|{to_action}|{edge_type}', charged: 'created_by' },
);

export const LEASE = recordFacts(
  'lease',
  { action_id: '', namespace: '', holder: null, token: 0, ttl_secs: 0, acquired_at: '' },
  { home: true },
);

const NEVER = '9999-12-31T23:59:59.999Z';

export const SIGNAL = recordFacts(
  'signal',
  {
    ...{ signal_id: '', maker: '', namespace: '', from_agent: '', to_agent: null, subject: '', body: 'null' },
    ...{ signal_type: 'notify', in_reply_to: null, correlation_id: null, reference_ids: [] },
    ...{ created_at: '', expires_at: NEVER, signature: null, public_key: null },
  },
  { id: '{maker}/{signal_id}', charged: 'from_agent' },
);

export const SIGNAL_RECEIPT = recordFacts(
  'signal_receipt',
  {
    ...{ signal_id: '', maker: '', namespace: '', reader: '', from_agent: '' },
    ...{ read_at: null, acknowledged_at: null, expires_at: NEVER },
  },
  {
    id: '{signal_id}|{reader}',
    joins: { read_at: 'earliest known', acknowledged_at: 'earliest known' },
  },
);

export const BLOB = recordFacts(
  'blob',
  { namespace: '', sha256: '', data: '', size: 0, agent_id: '' },
  { id: '{namespace}|{sha256}', charged: 'agent_id' },
);

export const TRANSCRIPT = recordFacts(
  'transcript',
  {
    ...{ namespace: '', agent_id: '', host_session_id: '', host_turn_index: 0, role: 'other' },
    ...{ host_kind: 'unknown', host_version: null, layer: 'L4', content_sha256: '', blob_id: '' },
    ...{ original_size: 0, compressed_size: 0, memory_id: '', tool_calls: [], attest_level: 'self_signed' },
    ...{ host_signature: null, host_pubkey: null, captured_by: '' },
    ...{ created_at: '', expires_at: '', archived_at: null },
  },
  { id: '{agent_id}|{host_turn_index}|{host_session_id}', charged: 'agent_id' },
);

export const OFFLOAD = recordFacts(
  'offload',
  {
    ...{ ref_id: '', namespace: '', agent_id: '', content_sha256: '', blob_id: '', size: 0 },
    ...{ stored_at: '', expires_at: null },
  },
  { id: '{ref_id}|{agent_id}', charged: 'agent_id' },
);

export const CHECKPOINT = recordFacts(
  'checkpoint',
  {
    ...{ checkpoint_id: '', maker: '', namespace: '', title: '', condition_type: 'approval', condition: {} },
    ...{ state: 'pending', created_by: '', created_at: '', deadline_at: null, resolved_by: null },
    ...{ resolution: null, resolution_note: null, resolved_at: null, metadata: {} },
    ...{ signature: null, public_key: null },
  },
  { home: true, id: '{maker}/{checkpoint_id}', charged: 'created_by' },
);

export const ROUTINE = recordFacts(
  'routine',
  {
    ...{ routine_id: '', maker: '', namespace: '', name: '', template: {}, parameters: '[]', state: 'draft' },
    ...{ created_by: '', created_at: '', frozen_at: null, metadata: {}, signature: null, public_key: null },
  },
  { home: true, id: '{maker}/{routine_id}', charged: 'created_by' },
);

export const ROUTINE_RUN = recordFacts(
  'routine_run',
  {
    ...{ run_id: '', maker: '', routine_id: '', namespace: '', arguments: {}, state: 'pending' },
    ...{ created_action_ids: [], created_by: '', started_at: '', finished_at: null, error: null },
    metadata: {},
  },
  { home: true, id: '{maker}/{run_id}', charged: 'created_by' },
);

export const SKILL = recordFacts(
  'skill',
  {
    ...{ skill_id: '', namespace: '', name: '', description: '', license: null, compatibility: null },
    ...{ allowed_tools: [], metadata: {}, body_sha256: '', content_id: '', pieces: 0, digest: '' },
    ...{ agent_id: '', created_at: '', updated_at: '', superseded_by: null, head_of: null },
    ...{ signature: null, public_key: null },
  },
  { id: '{skill_id}', charged: 'agent_id' },
);

export const SKILL_CONTENT = recordFacts(
  'skill_content',
  { namespace: '', sha256: '', data: '', size: 0, agent_id: '' },
  { id: '{namespace}|{sha256}', charged: 'agent_id' },
);

export const SKILL_RESOURCE = recordFacts(
  'skill_resource',
  {
    ...{ skill_id: '', namespace: '', path: '', piece: 0, pieces: 1, resource_kind: 'asset', sha256: '' },
    ...{ size: 0, content_id: '', agent_id: '' },
  },
  { id: '{skill_id}|{piece}|{path}', charged: 'agent_id' },
);

export const ERASURE_DONE = recordFacts(
  'erasure_done',
  { memory_id: '', peer_id: '', namespace: '', done_at: '' },
  { id: '{peer_id}/{memory_id}' },
);

export const TOKEN_ROOT = recordFacts(
  'token_root',
  { peer_id: '', key_id: '', public_key: '', created_at: '' },
  { id: '{peer_id}/{key_id}' },
);

export const TOKEN_REVOCATION = recordFacts(
  'token_revocation',
  { revocation_id: '', revoked_by: '', revoked_at: '' },
  { id: '{revocation_id}' },
);

/** Every kind that a node replicates. */
export const KIND_FACTS: readonly KindFacts[] = [
  MEMORY,
  LINK,
  STANDARD,
  ADOPTION,
  ALIAS,
  PENDING,
  VOTE,
  REMEMBERED,
  RULE,
  RECEIPT,
  ACTION,
  ACTION_EDGE,
  LEASE,
  SIGNAL,
  SIGNAL_RECEIPT,
  BLOB,
  TRANSCRIPT,
  ERASURE_DONE,
  OFFLOAD,
  CHECKPOINT,
  ROUTINE,
  ROUTINE_RUN,
  SKILL,
  SKILL_CONTENT,
  SKILL_RESOURCE,
  TOKEN_ROOT,
  TOKEN_REVOCATION,
];
