import { useState } from 'preact/hooks';
import { call, type Operations, policyLevels } from '../api.js';
import { valueText } from '../lib/format.js';
import { gateText, policyIn, readText, ruleHoldsIn } from '../lib/policies.js';
import { addressOf } from '../lib/route.js';
import { go, place } from '../router.js';
import { agent } from '../session.js';
import { Empty, Loading, Problem } from '../ui/notices.js';
import { type Column, Field, Form, Json, Table } from '../ui/parts.js';
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
      <RuleTables namespace={namespace} />
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

function RuleTables({ namespace }: { readonly namespace: string }) {
  const { value, error, isLoading, reload } = useLoad('rules', (signal) =>
    call('memory_rule_list', {}, { signal }),
  );
  const rules = (value?.rules ?? []).filter(
    (rule) => namespace === '' || ruleHoldsIn(rule.namespace, namespace),
  );
  const reads = rules.filter(({ kind }) => kind === READ);
  const actions = rules.filter(({ kind }) => kind !== READ);
  return (
    <>
      <section class="card" aria-labelledby="rules">
        <h2 id="rules">Rules for what agents do</h2>
        <Problem error={error} retry={reload} />
        {isLoading && value === null && <Loading what="the rules" />}
        {value !== null && actions.length === 0 && <Empty>There is none.</Empty>}
        {actions.length > 0 && (
          <RuleTable
            label="Rules"
            rules={actions}
            about={{ name: 'Matches', of: ({ matcher }) => <code>{JSON.stringify(matcher)}</code> }}
          />
        )}
      </section>
      <section class="card" aria-labelledby="reads">
        <h2 id="reads">Rules for what agents read</h2>
        <p class="quiet">
          What a rule refuses to show does not exist for the one who asks: in lists, searches, recalls,
          exports and by its id. Permission rules about <code>memory_read</code> stand in the configuration of
          the node.
        </p>
        {value !== null && reads.length === 0 && <Empty>There is none.</Empty>}
        {reads.length > 0 && (
          <RuleTable
            label="Rules about reads"
            rules={reads}
            about={{ name: 'About', of: ({ matcher }) => readText(matcher) }}
          />
        )}
      </section>
      <details>
        <summary>Make or change a rule</summary>
        <p>Only the operator of the machine does, on the command line:</p>
        <Json
          value={[
            `mnemesh rules add --id no-export --kind read_action --matcher '{"surface":"export","namespace":"hr/**"}' --reason "it stays here"`,
            `mnemesh rules add --id no-force --kind bash --matcher '{"command_substring":"push --force"}' --reason "ask first"`,
          ].join('\n')}
        />
      </details>
    </>
  );
}

const READ = 'read_action';

const RuleTable = ({
  label,
  rules,
  about,
}: {
  readonly label: string;
  readonly rules: readonly Rule[];
  readonly about: Column<Rule>;
}) => (
  <Table<Rule>
    label={label}
    rows={rules}
    keyOf={({ id }) => id}
    columns={[
      { name: 'Rule', of: ({ id }) => <code>{id}</code> },
      { name: 'Kind', of: ({ kind }) => kind },
      { name: 'Namespace', of: ({ namespace: where }) => where },
      about,
      { name: 'Severity', of: ({ severity }) => severity },
      { name: 'Reason', of: ({ reason }) => reason },
      {
        name: 'In force',
        of: (rule) => (rule.in_force ? 'yes' : `no${rule.problem === undefined ? '' : `: ${rule.problem}`}`),
      },
    ]}
  />
);

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
