import { OPERATIONS } from '../../node/operations/registry.js';
import fc from '../support/properties.js';

/** One call of an operation; `#n` in a text stands for the id that step n stored, on each store its own. */
export interface Step {
  readonly operation: string;
  readonly input: Record<string, unknown>;
}

/** Operations that all three surfaces have. */
export const SHARED = OPERATIONS.filter(
  ({ http, mcp, cli }) => http !== undefined && mcp !== undefined && cli !== undefined,
);

const word = fc.constantFrom(
  'harbour',
  'ferry',
  'deploy',
  'window',
  'naïve',
  '東京',
  'x-ray',
  'C++',
  'a|b:c',
);
const sentence = fc.array(word, { minLength: 1, maxLength: 6 }).map((words) => words.join(' '));
const namespace = fc.constantFrom('global', 'team/alpha', 'team/alpha/deep', 'team');
const place = fc.oneof(namespace, fc.constantFrom('team/**', 'team/alpha/**', 'no/**', 'team/*/x'));
const id = fc.oneof(
  { arbitrary: fc.integer({ min: 0, max: 5 }).map((n) => `#${n}`), weight: 8 },
  { arbitrary: fc.constantFrom('no-such-id', 'a/b', '..', 'x'.repeat(129), 'bad\u0001id'), weight: 2 },
);
const instant = fc.constantFrom('2020-01-01T00:00:00Z', '2099-01-01T00:00:00+02:00');
/** A field that is mostly right and sometimes not. */
const mostly = <T>(right: fc.Arbitrary<T>, ...wrong: unknown[]): fc.Arbitrary<unknown> =>
  fc.oneof({ arbitrary: right, weight: 9 }, { arbitrary: fc.constantFrom(...wrong), weight: 1 });

const NO_SKILL = '00000000-0000-4000-8000-000000000000';

export const INPUTS: Readonly<Record<string, fc.Arbitrary<Record<string, unknown>>>> = {
  memory_store: fc.record(
    {
      title: mostly(
        fc.constantFrom('alpha', 'beta', 'gamma', 'delta', 'alpha beta', 'the gamma'),
        '   ',
        'x'.repeat(600),
      ),
      content: mostly(sentence, ' ', 'bell \u0007'),
      tier: mostly(fc.constantFrom('short', 'mid', 'long'), 'eternal'),
      namespace: mostly(namespace, 'a/b/c/d/e/f/g/h/i', 'sp ace', '/lead', 'team/**', '_own'),
      tags: fc.array(fc.constantFrom('red', 'green', 'blue'), { maxLength: 3 }),
      priority: mostly(fc.integer({ min: 1, max: 10 }), 0, 11, 2.5),
      confidence: mostly(fc.constantFrom(0, 0.5, 1), 1.5),
      kind: mostly(fc.constantFrom('observation', 'decision'), 'rumour'),
      scope: fc.constantFrom('private', 'collective'),
      on_conflict: fc.constantFrom('error', 'merge', 'version'),
      source: fc.constant('same'),
      metadata: fc.constantFrom({}, { topic: 'x', deep: { list: [1, 'two', null] } }),
      expires_at: mostly(fc.constant('2099-01-01T00:00:00+02:00'), 'tomorrow', '2001-01-01T00:00:00Z'),
      force: fc.boolean(),
      valid_from: mostly(fc.constantFrom('2020-01-01', '2030-01-01T00:00:00Z'), 'soon'),
      valid_until: mostly(fc.constant('2025-01-01T00:00:00Z'), 'never'),
    },
    { requiredKeys: ['title', 'content', 'source'] },
  ),
  memory_skill_register: fc.record(
    {
      inline_skill: mostly(
        fc
          .tuple(namespace, fc.constantFrom('deploy', 'review'), sentence)
          .map(
            ([place, name, text]) =>
              `---\nnamespace: ${JSON.stringify(place)}\nname: ${name}\ndescription: ${JSON.stringify(text)}\nscope: private\n---\n${text}`,
          ),
        '---\nname: x\n---\n',
        'no front matter',
      ),
      folder_path: fc.constant('../out'),
    },
    { requiredKeys: ['inline_skill'] },
  ),
  memory_skill_list: fc.record(
    {
      namespace: fc.constantFrom('%', 'lead%', '_ead'),
      filter: fc.constantFrom('dep', 'x'),
      limit: fc.constant(1),
    },
    { requiredKeys: [] },
  ),
  memory_skill_get: fc.constant({ skill_id: NO_SKILL }),
  memory_skill_resource: fc.constantFrom(
    { skill_id: NO_SKILL, resource_path: 'a' },
    { skill_id: 'x', resource_path: 'a' },
  ),
  memory_skill_export: fc.constantFrom(
    { skill_id: NO_SKILL, target_folder: 'x' },
    { skill_id: 'x', target_folder: 'x' },
  ),
  memory_skill_promote_from_reflection: fc.record({
    reflection_id: fc.constantFrom('no-such', '00'),
    skill_name: fc.constantFrom('deploy', 'Not A Name'),
    skill_description: fc.constant('how'),
  }),
  memory_skill_compositional_context: fc.record({
    skill_id: fc.constant(NO_SKILL),
    budget_tokens: fc.constantFrom(10, -1),
  }),
  memory_agent_register: fc.record(
    {
      // The caller is an admin.
      agent_id: fc.constantFrom('ai:parity', 'ai:second'),
      agent_type: mostly(fc.constantFrom('human', 'ai:coder'), 'robot', ''),
      capabilities: mostly(fc.constantFrom([], ['build', 'test', 'build']), ['bell \u0007']),
    },
    { requiredKeys: ['agent_id', 'agent_type'] },
  ),
  memory_agent_list: fc.record({ limit: mostly(fc.integer({ min: 1, max: 3 }), 0) }, { requiredKeys: [] }),
  memory_quota_status: fc.record(
    { agent_id: fc.constant('ai:parity'), namespace: mostly(namespace, 'a//b') },
    {
      requiredKeys: ['agent_id'],
    },
  ),
  memory_entity_register: fc.record(
    {
      canonical_name: mostly(fc.constantFrom('alpha', 'Ada', 'ADA', 'Straße'), ' ', 'x'.repeat(600)),
      namespace: mostly(namespace, 'a//b', '_own'),
      aliases: mostly(fc.array(fc.constantFrom('ada', 'STRASSE', 'Countess', ' '), { maxLength: 3 }), [
        'x'.repeat(600),
      ]),
      metadata: fc.constantFrom({}, { born: 1815 }),
    },
    { requiredKeys: ['canonical_name', 'namespace'] },
  ),
  memory_entity_get_by_alias: fc.record(
    { alias: mostly(fc.constantFrom('ada', 'strasse', 'countess', 'nobody'), ' '), namespace },
    { requiredKeys: ['alias'] },
  ),
  memory_namespace_set_standard: fc.record(
    {
      namespace: mostly(namespace, '*', '_agents'),
      id,
      parent: mostly(namespace, 'a//b'),
      governance: mostly(
        fc.constantFrom({ write: 'owner' }, { write: 'any', extra: [1] }, { write: 'approve' }),
        { write: 'x' },
        {},
      ),
    },
    { requiredKeys: ['namespace'] },
  ),
  memory_namespace_get_standard: fc.record(
    { namespace: mostly(namespace, 'a//b'), inherit: fc.boolean() },
    { requiredKeys: ['namespace'] },
  ),
  memory_namespace_clear_standard: fc.record({ namespace: mostly(namespace, 'a//b') }),
  memory_pending_list: fc.record(
    { status: mostly(fc.constantFrom('pending', 'approved'), 'open'), namespace: mostly(namespace, 'a//b') },
    { requiredKeys: [] },
  ),
  memory_pending_approve: fc.record(
    { id, remember: mostly(fc.constantFrom('once', 'forever'), 'always') },
    { requiredKeys: ['id'] },
  ),
  memory_pending_reject: fc.record({ id }),
  memory_rule_list: fc.record(
    { kind: fc.constantFrom('bash', 'custom', 'dance'), enabled_only: fc.boolean() },
    { requiredKeys: [] },
  ),
  memory_notify: fc.record(
    {
      target_agent_id: mostly(fc.constantFrom('ai:parity', 'ai:other'), 'bad agent', 'a//b'),
      title: mostly(fc.constantFrom('alpha', 'ready'), ' ', 'x'.repeat(600)),
      payload: mostly(sentence, ' '),
      priority: mostly(fc.integer({ min: 0, max: 12 }), 2.5),
      tier: mostly(fc.constantFrom('short', 'mid', 'long'), 'eternal'),
    },
    { requiredKeys: ['target_agent_id', 'title', 'payload'] },
  ),
  memory_inbox: fc.record(
    {
      agent_id: fc.constant('ai:parity'),
      unread_only: fc.boolean(),
      limit: mostly(fc.integer({ min: 1, max: 3 }), 0, 501),
    },
    { requiredKeys: [] },
  ),
  memory_inbox_read: fc.record(
    { ids: fc.array(id, { minLength: 1, maxLength: 3 }), all: fc.boolean() },
    { requiredKeys: [] },
  ),
  memory_share: fc.record({
    source_memory_id: id,
    target_agent_id: mostly(fc.constantFrom('ai:other', 'ai:third'), 'ai:parity', 'bad agent'),
  }),
  memory_check_agent_action: fc.record(
    {
      kind: mostly(
        fc.constantFrom('bash', 'filesystem_write', 'process_spawn', 'custom', 'read_action'),
        'x',
      ),
      command: fc.constantFrom('ls', 'rm -rf /tmp/x'),
      path: fc.constant('/tmp/x'),
      binary: fc.constant('cargo'),
      args: fc.constantFrom([], ['build', '--release']),
      custom_kind: fc.constant('memory_write'),
      payload: mostly(fc.constant({ namespace: 'team', tier: 'long' }), []),
    },
    { requiredKeys: ['kind'] },
  ),
  memory_get: fc.record({ id }),
  memory_history: fc.record(
    {
      id,
      limit: mostly(fc.integer({ min: 1, max: 5 }), 0),
      from: mostly(fc.constantFrom('1', '2'), 'x'),
      to: mostly(fc.constantFrom('1', '2', '3'), '0'),
    },
    { requiredKeys: ['id'] },
  ),
  memory_list: fc.record(
    {
      namespace: mostly(place, 'a//b'),
      include_expired: fc.boolean(),
      tier: fc.constantFrom('short', 'mid', 'long'),
      limit: mostly(fc.integer({ min: 1, max: 5 }), 0, -1),
      offset: mostly(fc.integer({ min: 0, max: 3 }), -1),
      min_priority: fc.integer({ min: 1, max: 10 }),
      as_of: mostly(fc.constantFrom('2022-01-01T00:00:00Z', '2031-01-01'), 'then'),
      known_at: mostly(fc.constantFrom('2020-01-01T00:00:00Z', '2099-01-01'), 'then'),
      tags: fc.constantFrom('red', 'red,blue'),
      since: mostly(fc.constant('2020-01-01T00:00:00Z'), 'then'),
      format: mostly(fc.constant('json'), 'xml'),
    },
    { requiredKeys: [] },
  ),
  memory_search: fc.record(
    {
      query: mostly(sentence, '', '"unbalanced', 'title:x AND (NEAR'),
      namespace: place,
      limit: fc.integer({ min: 1, max: 5 }),
      include_archived: fc.boolean(),
      content: mostly(fc.constantFrom('full', 'passage', 'none'), 'all'),
      format: mostly(fc.constant('json'), 'xml'),
    },
    { requiredKeys: ['query'] },
  ),
  memory_recall: fc.record(
    {
      context: mostly(sentence, '  ', 'the of and', '"*:^('),
      namespace: mostly(place, '/**'),
      // The surfaces differ in what they answer by default.
      content: mostly(fc.constantFrom('full', 'passage', 'none'), 'all'),
      limit: fc.integer({ min: -1, max: 5 }),
      min_score: mostly(fc.constantFrom(0, 0.2, 1), 2),
      budget_tokens: mostly(fc.integer({ min: 0, max: 50 }), -1),
      tags: fc.constantFrom('red', 'green,blue'),
      kinds: fc.constantFrom('decision', 'observation,decision', 'all', 'rumour'),
      confidence_tier: mostly(fc.constantFrom('confirmed', 'likely', 'ambiguous'), 'sure'),
      has_citations: mostly(fc.boolean(), 'maybe'),
      source_uri_prefix: mostly(fc.constantFrom('doc:', 'file:'), ''),
      include_archived: fc.boolean(),
      session_default: fc.boolean(),
      as_agent: mostly(fc.constantFrom('team/alpha', 'team'), 'a//b'),
      verbose_provenance: fc.boolean(),
      format: mostly(fc.constant('json'), 'xml'),
    },
    { requiredKeys: ['context', 'verbose_provenance', 'content'] },
  ),
  memory_update: fc.record(
    {
      id,
      title: fc.constantFrom('alpha', 'beta', 'renamed'),
      content: sentence,
      priority: mostly(fc.integer({ min: 1, max: 10 }), 99),
      tier: fc.constantFrom('short', 'mid', 'long'),
      tags: fc.array(fc.constantFrom('red', 'green'), { maxLength: 2 }),
      kind: mostly(fc.constantFrom('observation', 'decision', 'reflection'), 'rumour'),
      scope: mostly(fc.constantFrom('private', 'collective'), 'galaxy'),
      source: mostly(fc.constant('same'), ' '),
      source_span: mostly(fc.constant({ start: 1, end: 4 }), { start: 4, end: 1 }),
    },
    { requiredKeys: ['id'] },
  ),
  memory_delete: fc.record({ id }),
  memory_promote: fc.record({ id }),
  memory_stats: fc.constant({}),
  memory_erasures: fc.constant({}),
  token_list: fc.constant({}),
  token_revoke: fc.record({ token_id: fc.constant('no id') }),
  memory_forget: fc.record(
    {
      namespace: mostly(place, 'a//b'),
      pattern: mostly(fc.constantFrom('harbour ferry', 'window', 'deploy OR x'), '*(', ''),
      tier: mostly(fc.constantFrom('short', 'mid'), 'eternal'),
    },
    { requiredKeys: [] },
  ),
  memory_gc: fc.constant({}),
  storage_room: fc.constant({}),
  memory_consolidate: fc.record(
    {
      ids: mostly(fc.array(id, { minLength: 1, maxLength: 4 }), ['#0'], ['#0', '#0']),
      title: mostly(fc.constantFrom('alpha', 'sum', 'whole'), ' '),
      summary: sentence,
      namespace: mostly(namespace, '/lead'),
      tier: fc.constantFrom('mid', 'long'),
    },
    { requiredKeys: ['ids', 'title'] },
  ),
  memory_reflect: fc.record(
    {
      source_ids: mostly(fc.uniqueArray(id, { minLength: 1, maxLength: 3 }), ['#0', '#0'], []),
      title: mostly(fc.constantFrom('alpha', 'insight', 'lesson'), ' '),
      content: sentence,
      namespace: mostly(namespace, '/lead'),
      tier: fc.constantFrom('mid', 'long'),
      priority: mostly(fc.integer({ min: 1, max: 10 }), 99),
      depth: fc.integer({ min: -1, max: 3 }),
    },
    { requiredKeys: ['source_ids', 'title', 'content'] },
  ),
  memory_expand_query: fc.record({ query: mostly(sentence, ' ') }),
  memory_atomise: fc.record(
    {
      memory_id: id,
      max_atom_tokens: mostly(fc.integer({ min: 50, max: 1000 }), 49),
      force_re_atomise: mostly(fc.boolean(), 'yes'),
    },
    { requiredKeys: ['memory_id'] },
  ),
  memory_ingest_multistep: fc.record(
    {
      content: sentence,
      pipeline_variant: mostly(fc.constantFrom('two_phase', 'four_step'), 'six_step'),
    },
    { requiredKeys: ['content'] },
  ),
  memory_check_duplicate: fc.record(
    {
      title: sentence,
      content: mostly(sentence, ' '),
      namespace,
      threshold: mostly(fc.constant(0.9), 2, -1),
    },
    { requiredKeys: ['title', 'content'] },
  ),
  memory_archive_list: fc.record(
    {
      namespace: mostly(namespace, 'a//b'),
      limit: mostly(fc.integer({ min: 1, max: 5 }), 0),
      offset: fc.nat(3),
    },
    { requiredKeys: [] },
  ),
  memory_archive_restore: fc.record({ id }),
  memory_archive_purge: fc.record(
    { older_than_days: mostly(fc.constantFrom(0, 1), -1, 40_000) },
    { requiredKeys: [] },
  ),
  memory_archive_stats: fc.constant({}),
  memory_link: fc.record(
    {
      source_id: id,
      target_id: id,
      relation: mostly(fc.constantFrom('related_to', 'reflects_on', 'supersedes'), 'likes'),
      valid_from: mostly(fc.constantFrom('2020-01-01T00:00:00Z', '2099-01-01T00:00:00Z'), 'soon'),
      valid_until: mostly(fc.constantFrom('2021-01-01T00:00:00Z', '2099-01-01T00:00:00Z'), ''),
    },
    { requiredKeys: ['source_id', 'target_id'] },
  ),
  memory_kg_invalidate: fc.record(
    {
      source_id: id,
      target_id: id,
      relation: mostly(fc.constantFrom('related_to', 'reflects_on'), 'likes'),
      valid_until: mostly(fc.constantFrom('2020-06-01T00:00:00Z', '2099-01-01T00:00:00Z'), 'soon'),
    },
    { requiredKeys: ['source_id', 'target_id', 'relation'] },
  ),
  memory_recall_observations: fc.record(
    {
      consumed: mostly(fc.boolean(), 'maybe'),
      since: mostly(fc.constant('2020-01-01T00:00:00Z'), 'then'),
      until: fc.constantFrom('2020-01-01T00:00:00Z', '2099-01-01T00:00:00Z'),
      limit: mostly(fc.integer({ min: 1, max: 5 }), 0),
      recall_id: mostly(fc.constant('00000000-0000-4000-8000-000000000000'), 'x'),
    },
    { requiredKeys: [] },
  ),
  memory_recalls: fc.record(
    {
      outcome: mostly(fc.constantFrom('found', 'weak', 'none'), 'some'),
      used: fc.boolean(),
      recall_id: mostly(fc.constant('00000000'), ''),
      cursor: fc.constantFrom('', 'x'),
    },
    { requiredKeys: [] },
  ),
  memory_calibrate_confidence: fc.record(
    {
      days: mostly(fc.integer({ min: 1, max: 60 }), 0, 1e9),
      output_format: mostly(fc.constant('json'), 'xml'),
    },
    { requiredKeys: [] },
  ),
  memory_kg_query: fc.record(
    {
      source_id: id,
      max_depth: mostly(fc.integer({ min: 1, max: 5 }), 0, 6),
      valid_at: mostly(instant, 'then'),
      believed_at: instant,
      include_invalidated: fc.boolean(),
      allowed_agents: mostly(fc.subarray(['ai:parity', 'ai:other'], { minLength: 1 }), ['bad agent']),
      rel_types: mostly(fc.constant(['related_to', 'advances']), ['likes']),
      limit: mostly(fc.integer({ min: 1, max: 5 }), 0),
    },
    { requiredKeys: ['source_id'] },
  ),
  memory_kg_timeline: fc.record(
    {
      source_id: id,
      since: mostly(instant, 'then'),
      until: instant,
      believed_at: instant,
      limit: mostly(fc.integer({ min: 1, max: 5 }), 0),
    },
    { requiredKeys: ['source_id'] },
  ),
  memory_find_paths: fc.record(
    {
      source_id: id,
      target_id: id,
      max_depth: mostly(fc.integer({ min: 1, max: 7 }), 0, 8),
      max_results: mostly(fc.integer({ min: 1, max: 60 }), 0),
      valid_at: mostly(instant, 'then'),
      include_invalidated: fc.boolean(),
    },
    { requiredKeys: ['source_id', 'target_id'] },
  ),
  memory_lineage: fc.record(
    {
      id,
      direction: mostly(fc.constantFrom('ancestors', 'descendants'), 'sideways'),
      max_depth: mostly(fc.integer({ min: 1, max: 5 }), 0, 6),
    },
    { requiredKeys: ['id'] },
  ),
  memory_replay: fc.record(
    {
      memory_id: id,
      depth: mostly(fc.constantFrom(0, 1, -1), 0.5),
      verbose: mostly(fc.boolean(), 'yes'),
      limit: mostly(fc.integer({ min: 1, max: 3 }), 0),
    },
    { requiredKeys: ['memory_id'] },
  ),
  memory_subscribe: fc.record(
    {
      url: mostly(
        fc.constantFrom('https://example.org/hook', 'https://example.org/'),
        'http://example.org/',
        'https://10.0.0.1/',
        'https://localhost/',
        'hook',
      ),
      events: mostly(fc.constantFrom('*', 'memory_store, memory_delete'), 'memory_eaten'),
      secret: fc.constant('s3cret'),
      namespace_filter: mostly(namespace, 'a//b'),
      // Nothing is sent, so that the counts do not depend on the time.
      agent_filter: fc.constant('ai:other'),
    },
    { requiredKeys: ['url', 'agent_filter'] },
  ),
  memory_unsubscribe: fc.record({ id }),
  memory_list_subscriptions: fc.constant({}),
  memory_subscription_replay: fc.record(
    { subscription_id: id, since: mostly(instant, 'then'), resend: fc.boolean() },
    { requiredKeys: ['subscription_id', 'since'] },
  ),
  memory_subscription_dlq_list: fc.record(
    { subscription_id: id, limit: mostly(fc.integer({ min: 1, max: 5 }), 0) },
    { requiredKeys: [] },
  ),
  memory_dependents_of_invalidated: fc.record({ memory_id: id }),
  memory_reflection_origin: fc.record({ memory_id: id }),
};

const WEIGHTS: Readonly<Record<string, number>> = {
  memory_store: 8,
  memory_notify: 3,
  memory_recall: 2,
  memory_delete: 2,
  memory_archive_restore: 2,
  memory_link: 4,
  memory_subscribe: 2,
};

/** Any step of any shared operation, stores more often than others. */
export const step: fc.Arbitrary<Step> = fc.oneof(
  ...SHARED.map(({ name }) => ({
    weight: WEIGHTS[name] ?? 1,
    arbitrary: (INPUTS[name] ?? fc.constant({})).map((input): Step => ({ operation: name, input })),
  })),
);
