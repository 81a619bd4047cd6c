import assert from 'node:assert/strict';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { OPERATIONS } from '../../../node/operations/registry.js';
import type { ModelAsked } from '../../support/model-server.js';

export type Answer = Record<string, unknown>;

/** The versions of the protocol that sessions are tested with. */
export const VERSIONS = ['2024-11-05', '2025-06-18', '2025-11-25'] as const;

/** Makes the client of the library, which asks for its newest version, ask for another one. */
export function asking<T extends Transport>(transport: T, protocolVersion: string): T {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    const asked =
      'method' in message && message.method === 'initialize'
        ? { ...message, params: { ...message.params, protocolVersion } }
        : message;
    return send(asked, options);
  };
  return transport;
}

/** The agent that calls; an admin, so that no tool is refused. */
export const CALLER = 'ai:every-tool';

const SENTENCES = ['The shop is deployed on Sundays.', 'Ann has the key.', 'A rollback takes minutes.'];
const LONG_TEXT = `${SENTENCES.join(' ')} ${'Nobody deploys on other days without the lead. '.repeat(8)}`;

/** What a model says to the questions of these tools. */
export function modelSays({ system, prompt }: ModelAsked): string {
  if (system.includes('atoms')) return JSON.stringify({ atoms: SENTENCES });
  if (prompt.startsWith('Task: ')) return JSON.stringify({ items: SENTENCES });
  return system.startsWith('You compare two notes') ? 'no' : 'deploy\nsunday';
}

const textOf = (result: unknown): string => (result as { content: { text: string }[] }).content[0]!.text;

/** Calls every tool of a full profile once at least, and checks what the version of the session promises. */
export class EveryTool {
  private readonly called = new Set<string>();

  constructor(
    private readonly client: Client,
    /** Another agent on the same node. */
    private readonly other: Client,
    private readonly version: string,
  ) {}

  /** Calls a tool, which must not fail, and answers what it said as an object. */
  async call(name: string, args: Answer = {}): Promise<Answer> {
    // The client checks the structured content against the schema of the list.
    const result = (await this.client.callTool({ name, arguments: args })) as Answer;
    const text = textOf(result);
    assert.notEqual(result['isError'], true, `${name}: ${text}`);
    this.called.add(name);
    const structured = result['structuredContent'] as Answer | undefined;
    assert.equal(structured !== undefined, this.version >= '2025-06-18', `${name} structured`);
    if (structured === undefined) return text.startsWith('{') ? (JSON.parse(text) as Answer) : {};
    if (text.startsWith('{')) assert.deepEqual(structured, JSON.parse(text), `${name}: both are equal`);
    return structured;
  }

  /** What only another agent can prepare: nobody decides about what it asked for itself. */
  private async byOther(name: string, args: Answer): Promise<Answer> {
    return JSON.parse(textOf(await this.other.callTool({ name, arguments: args }))) as Answer;
  }

  async all(): Promise<void> {
    const { tools } = await this.client.listTools();
    for (const tool of tools) {
      assert.equal(tool.annotations !== undefined, this.version >= '2025-03-26', tool.name);
      assert.equal(tool.outputSchema !== undefined, this.version >= '2025-06-18', tool.name);
    }
    const { id, other } = await this.memories();
    await this.graph(id, other);
    await this.intelligence(id, other);
    await this.coordination();
    await this.governance(id);
    await this.messages(id);
    await this.skills(id, other);
    await this.ends(id);
    const bound = OPERATIONS.filter(({ mcp }) => mcp !== undefined).map(({ name }) => name);
    assert.deepEqual([...this.called].sort(), [...bound].sort());
  }

  private async store(title: string, more: Answer = {}): Promise<string> {
    const stored = await this.call('memory_store', { title, content: LONG_TEXT, namespace: 'shop', ...more });
    return String(stored['id']);
  }

  private async memories() {
    const id = await this.store('Deploy window', { tags: ['ops'] });
    const other = await this.store('Rollback');
    for (const format of ['json', 'toon', 'toon_compact']) {
      const recalled = await this.call('memory_recall', { context: 'deploy shop', format });
      if (this.version >= '2025-06-18' || format === 'json') assert.ok(Number(recalled['count']) > 0, format);
      await this.call('memory_list', { format });
      await this.call('memory_search', { query: 'sundays', format });
      await this.call('memory_session_start', { namespace: 'shop', format });
    }
    const { recall_id: recallId } = await this.call('memory_recall', { context: 'deploy', format: 'json' });
    await this.call('memory_recall_observations', { recall_id: recallId });
    await this.call('memory_recalls', { recall_id: recallId });
    await this.call('memory_get', { id });
    await this.call('memory_history', { id });
    await this.call('memory_load_family', { family: 'core' });
    await this.call('memory_smart_load', { intent: 'deploy' });
    await this.call('memory_update', { id, priority: 7 });
    await this.call('memory_promote', { id });
    await this.call('memory_check_duplicate', { title: 'Deploy window', content: LONG_TEXT });
    await this.call('memory_get_taxonomy');
    await this.call('memory_stats');
    await this.call('memory_capabilities');
    return { id, other };
  }

  private async graph(id: string, other: string) {
    const ends = { source_id: id, target_id: other };
    await this.call('memory_link', { ...ends, relation: 'related_to' });
    await this.call('memory_get_links', { id });
    await this.call('memory_verify', ends);
    await this.call('memory_kg_query', { source_id: id });
    await this.call('memory_kg_timeline', { source_id: id });
    await this.call('memory_find_paths', ends);
    await this.call('memory_lineage', { id });
    await this.call('memory_dependents_of_invalidated', { memory_id: id });
    await this.call('memory_kg_invalidate', { ...ends, relation: 'related_to' });
    await this.call('memory_entity_register', { canonical_name: 'Ann', namespace: 'shop', aliases: ['A.'] });
    await this.call('memory_entity_get_by_alias', { alias: 'A.' });
  }

  private async intelligence(id: string, other: string) {
    const reflection = await this.call('memory_reflect', {
      ...{ source_ids: [id, other], title: 'What deploys teach', content: 'Sundays are calm.' },
      ...{ entity_id: 'Ann', namespace: 'shop' },
    });
    const memory_id = String(reflection['id'] ?? reflection['memory_id']);
    await this.call('memory_reflection_origin', { memory_id });
    await this.call('memory_export_reflection', { memory_id });
    await this.call('memory_persona_generate', { entity_id: 'Ann', namespace: 'shop' });
    await this.call('memory_persona', { entity_id: 'Ann', namespace: 'shop' });
    await this.call('memory_atomise', { memory_id: other, max_atom_tokens: 50 });
    await this.call('memory_ingest_multistep', { content: LONG_TEXT, namespace: 'shop' });
    await this.call('memory_auto_tag', { id });
    await this.call('memory_expand_query', { query: 'deploy' });
    await this.call('memory_detect_contradiction', { id_a: id, id_b: other });
    await this.call('memory_calibrate_confidence');
    this.reflection = memory_id;
  }

  private reflection = '';

  private async coordination() {
    const place = { namespace: 'shop' };
    const action = async (title: string) =>
      String((await this.call('memory_action_create', { ...place, kind: 'task', title }))['id']);
    const [first, second] = [await action('one'), await action('two')];
    await this.call('memory_action_add_edge', {
      ...{ from_action: second, to_action: first, edge_type: 'requires' },
    });
    await this.call('memory_action_edges', { id: first });
    await this.call('memory_action_frontier', place);
    await this.call('memory_action_next', place);
    await this.call('memory_action_list');
    await this.call('memory_action_transition', { id: first, to: 'claimed' });
    await this.call('memory_action_get', { id: first });
    const held = { action_id: first, holder: CALLER };
    const lease = await this.call('memory_lease_acquire', held);
    await this.call('memory_lease_get', { action_id: first });
    const token = (lease['lease'] as Answer | undefined)?.['fencing_token'] ?? lease['fencing_token'];
    await this.call('memory_lease_renew', { ...held, fencing_token: token });
    await this.call('memory_lease_release', { ...held, fencing_token: token });
    const sent = await this.call('memory_signal_send', {
      ...{ ...place, subject: 's', to_agent: CALLER, correlation_id: 'thread' },
    });
    await this.call('memory_signal_inbox', place);
    await this.call('memory_signal_read', { id: sent['id'] });
    await this.call('memory_signal_thread', { correlation_id: 'thread' });
    await this.call('memory_signal_ack', { id: sent['id'] });
    await this.call('memory_checkpoint_create', { ...place, title: 'own' });
    const { id } = await this.byOther('memory_checkpoint_create', { ...place, title: 'c' });
    const point = { id };
    await this.call('memory_checkpoint_resolve', { ...point, state: 'resolved' });
    await this.call('memory_checkpoint_query', place);
    await this.call('memory_checkpoint_verify', point);
    const template = { actions: [{ kind: 'task', title: 'step' }], edges: [] };
    const routine = await this.call('memory_routine_create', { ...place, name: 'r', template });
    await this.call('memory_routine_freeze', { id: routine['id'] });
    const { run } = await this.call('memory_routine_run', { routine_id: routine['id'], arguments: {} });
    await this.call('memory_routine_status', { run_id: (run as Answer)['id'] });
    await this.call('memory_routine_list', place);
  }

  private async governance(id: string) {
    const governed = { namespace: 'governed' };
    await this.call('memory_namespace_set_standard', { namespace: 'shop', id });
    await this.call('memory_namespace_get_standard', { namespace: 'shop', inherit: true });
    await this.call('memory_namespace_clear_standard', { namespace: 'shop' });
    await this.call('memory_namespace_set_standard', { ...governed, governance: { write: 'approve' } });
    // Only registered agents decide.
    await this.call('memory_agent_register', { agent_id: CALLER, agent_type: 'ai:tester' });
    for (const tool of ['memory_pending_approve', 'memory_pending_reject']) {
      const waiting = await this.byOther('memory_store', { title: tool, content: 'waits', ...governed });
      assert.equal(waiting['status'], 'pending');
      await this.call('memory_pending_list');
      await this.call(tool, { id: waiting['pending_id'] });
    }
    await this.call('memory_rule_list');
    await this.call('memory_check_agent_action', { kind: 'bash', command: 'ls' });
    const subscription = await this.call('memory_subscribe', {
      ...{ url: 'https://93.184.216.34/hook', secret: 'a secret of some length, which signs' },
      namespace_filter: 'nowhere',
    });
    const subscription_id = String(subscription['id']);
    await this.call('memory_list_subscriptions');
    await this.call('memory_subscription_replay', { subscription_id, since: '2020-01-01T00:00:00Z' });
    await this.call('memory_subscription_dlq_list');
    await this.call('memory_unsubscribe', { id: subscription_id });
    await this.call('memory_agent_list');
    await this.call('memory_quota_status', { agent_id: CALLER });
    await this.call('memory_quota_status');
  }

  private async messages(id: string) {
    await this.call('memory_notify', { target_agent_id: CALLER, title: 'ready', payload: 'p' });
    await this.call('memory_inbox');
    await this.call('memory_inbox_read', { all: true });
    await this.call('memory_share', { source_memory_id: id, target_agent_id: 'ai:other' });
    const turn = { host_session_id: 'a-session', host_turn_index: 0, role: 'user', content: 'hello' };
    await this.call('memory_capture_turn', turn);
    const { ref_id } = await this.call('memory_offload', { content: 'long', namespace: 'shop' });
    await this.call('memory_deref', { ref_id });
    await this.call('memory_replay', { memory_id: id });
  }

  private async skills(id: string, other: string) {
    const registered = await this.call('memory_skill_register', {
      inline_skill: '---\nnamespace: shop\nname: deploy\ndescription: How to deploy\n---\nRun it.',
    });
    const skill_id = String(registered['skill_id'] ?? registered['id']);
    await this.call('memory_skill_list');
    await this.call('memory_skill_get', { skill_id });
    await this.call('memory_skill_compositional_context', { skill_id });
    await this.call('memory_skill_export', { skill_id, target_folder: 'deploy' });
    const promoted = await this.call('memory_skill_promote_from_reflection', {
      ...{ reflection_id: this.reflection, skill_name: 'calm', skill_description: 'When to deploy' },
    });
    const promotedId = String(promoted['skill_id'] ?? promoted['id']);
    const got = await this.call('memory_skill_get', { skill_id: promotedId });
    const [file] = got['resources'] as { path: string }[];
    await this.call('memory_skill_resource', { skill_id: promotedId, resource_path: file!.path });
    assert.notEqual(id, other);
  }

  private async ends(id: string) {
    const gone = await this.store('Gone');
    await this.call('memory_delete', { id: gone });
    await this.call('memory_archive_list');
    await this.call('memory_archive_stats');
    await this.call('memory_archive_restore', { id: gone });
    const third = await this.store('Third');
    await this.call('memory_consolidate', { ids: [gone, third], title: 'Both', summary: 's' });
    await this.call('memory_forget', { namespace: 'nowhere' });
    await this.call('memory_gc', { dry_run: true });
    await this.call('storage_room');
    await this.call('memory_erasures');
    await this.call('token_list');
    await this.call('token_revoke', { token_id: 'ab'.repeat(64) });
    await this.call('memory_archive_purge');
    await this.call('memory_get', { id });
  }
}
