import { useState } from 'preact/hooks';
import { call, type Operations, policyLevels } from '../api.js';
import { valueText } from '../lib/format.js';
import { gateText, policyIn, ruleHoldsIn } from '../lib/policies.js';
import { addressOf } from '../lib/route.js';
import { go, place } from '../router.js';
import { agent } from '../session.js';
import { Empty, Loading, Problem } from '../ui/notices.js';
import { Field, Form, Json, Table } from '../ui/parts.js';
import { useLoad, useTask } from '../ui/use-load.js';

type Rule = Operations['memory_rule_list']['answer']['rules'][number];

export function Rules() {
  const namespace = place.value.query['namespace'] ?? '';
  const [text, setText] = useState(namespace);
  return (
    <>
      <h1>Rules and policies</h1>
      <Form
        label="Choose a namespace"
        role="search"
        class="row"
        onSubmit={() => go(addressOf('rules', null, { namespace: text.trim() }))}
      >
        <Field label="Namespace" value={text} onInput={setText} placeholder="team/alpha" required />
        <button type="submit" class="main">
          Show
        </button>
      </Form>
      {namespace === '' ? (
        <Empty>Name a namespace to see who may do what there.</Empty>
      ) : (
        <Policy namespace={namespace} />
      )}
      <RuleTable namespace={namespace} />
      <MayI />
    </>
  );
}

/** Who may write, promote and delete in a namespace, and which policy says so. */
function Policy({ namespace }: { readonly namespace: string }) {
  const { value, error, isLoading, reload } = useLoad(`policy ${namespace}`, (signal) =>
    policyLevels(namespace, signal),
  );
  const levels = value ?? [];
  return (
    <section class="card" aria-labelledby="policy">
      <h2 id="policy">Who may do what in {namespace}</h2>
      <Problem error={error} retry={reload} />
      {isLoading && value === null && <Loading what="the policies" />}
      {value !== null && (
        <>
          <Table
            label="Who may do what"
            rows={policyIn(levels)}
            keyOf={({ member }) => member}
            columns={[
              { name: 'To', of: ({ member }) => member },
              { name: 'May', of: ({ member, value: gate }) => gateText(member, gate) },
              { name: 'Said by', of: ({ from }) => from ?? 'nobody: this is the rule of the service' },
            ]}
          />
          <details>
            <summary>Each policy, the most general first</summary>
            <Json value={levels} />
          </details>
        </>
      )}
    </section>
  );
}

function RuleTable({ namespace }: { readonly namespace: string }) {
  const { value, error, reload } = useLoad('rules', (signal) => call('memory_rule_list', {}, { signal }));
  const rules = (value?.rules ?? []).filter(
    (rule) => namespace === '' || ruleHoldsIn(rule.namespace, namespace),
  );
  return (
    <section class="card" aria-labelledby="rules">
      <h2 id="rules">Rules for what agents do</h2>
      <Problem error={error} retry={reload} />
      {value !== null && rules.length === 0 && <Empty>There is none.</Empty>}
      {rules.length > 0 && (
        <Table<Rule>
          label="Rules"
          rows={rules}
          keyOf={({ id }) => id}
          columns={[
            { name: 'Rule', of: ({ id }) => <code>{id}</code> },
            { name: 'Kind', of: ({ kind }) => kind },
            { name: 'Namespace', of: ({ namespace: where }) => where },
            { name: 'Matches', of: ({ matcher }) => <code>{JSON.stringify(matcher)}</code> },
            { name: 'Severity', of: ({ severity }) => severity },
            { name: 'Reason', of: ({ reason }) => reason },
            {
              name: 'In force',
              of: (rule) =>
                rule.in_force ? 'yes' : `no${rule.problem === undefined ? '' : `: ${rule.problem}`}`,
            },
          ]}
        />
      )}
    </section>
  );
}

const KINDS = [
  'bash',
  'filesystem_write',
  'network_request',
  'process_spawn',
  'custom',
  'read_action',
] as const;
const MEMBERS: Readonly<Record<string, string>> = {
  bash: 'command',
  filesystem_write: 'path',
  network_request: 'host',
  process_spawn: 'binary',
  custom: 'custom_kind',
  read_action: 'surface',
};

/** Asks the node what the rules say of an action before it is taken. */
function MayI() {
  const [kind, setKind] = useState<string>('bash');
  const [subject, setSubject] = useState('');
  const [who, setWho] = useState(agent.value);
  const [said, setSaid] = useState('');
  const member = MEMBERS[kind]!;
  const ask = useTask(async () => {
    const input = { kind, [member]: subject, ...(who === '' ? {} : { agent_id: who }) };
    const { decision } = await call('memory_check_agent_action', input as never);
    setSaid(
      `${decision.decision}${decision.reason === undefined ? '' : `: ${decision.reason}`} (rule ${valueText(decision.rule_id)})`,
    );
  });
  return (
    <section class="card" aria-labelledby="may-i">
      <h2 id="may-i">May an agent do this?</h2>
      <Form label="Ask about an action" class="row" onSubmit={() => ask.run()}>
        <Field label="Agent" value={who} onInput={setWho} />
        <Field label="Kind" value={kind} onInput={setKind} options={KINDS} />
        <Field label={member.replace('_', ' ')} value={subject} onInput={setSubject} required />
        <button type="submit" disabled={ask.isRunning}>
          Ask
        </button>
      </Form>
      {said !== '' && <p role="status">{said}</p>}
      <Problem error={ask.error} />
    </section>
  );
}
