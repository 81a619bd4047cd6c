import { useEffect, useState } from 'preact/hooks';
import { approvalEvents, call, type Operations, policyLevels } from '../api.js';
import { agoText, valueText } from '../lib/format.js';
import { type Before, changesOf } from '../lib/pending-changes.js';
import { whyItWaits } from '../lib/policies.js';
import { addressOf } from '../lib/route.js';
import { agent, apiKey } from '../session.js';
import { Diff } from '../ui/diff.js';
import { announce, Empty, Loading, Problem } from '../ui/notices.js';
import { Facts, Field, Json, Table, Time } from '../ui/parts.js';
import { useLoad, useTask } from '../ui/use-load.js';

type Pending = Operations['memory_pending_list']['answer']['pending'][number];
type Remembered = Operations['pending_remembered']['answer']['remembered'][number];

const REMEMBER = ['once', 'session', 'forever'] as const;

export function Approvals() {
  const { value, error, isLoading, reload } = useLoad('pending', (signal) =>
    call('memory_pending_list', { status: 'pending', limit: 100 }, { signal }),
  );
  const stream = useApprovalStream(reload);
  return (
    <>
      <div class="bar">
        <h1>Approvals</h1>
        <span class={stream === 'live' ? 'good' : 'warm'}>{stream === 'live' ? 'live' : stream}</span>
      </div>
      <Problem error={error} retry={reload} />
      {isLoading && value === null && <Loading what="what waits" />}
      {value?.count === 0 && <Empty>Nothing waits for an approval.</Empty>}
      {value?.pending.map((each) => (
        <Waiting key={each.id} pending={each} onDecided={reload} />
      ))}
      <Decided />
      <RememberedDecisions />
    </>
  );
}

/** Reads again whenever the node tells of a change; says how the stream is. */
function useApprovalStream(reload: () => void): string {
  const [state, setState] = useState('connecting');
  const who = `${agent.value}\n${apiKey.value}`;
  useEffect(() => {
    const ending = new AbortController();
    const follow = async () => {
      const opened = () => {
        setState('live');
        reload();
      };
      for await (const { event, data } of approvalEvents({ signal: ending.signal, onOpen: opened })) {
        if (event === 'approval_requested') announce(`Somebody asks for an approval: ${data.action_type}`);
        if (event === 'approval_decided') announce(`Decided: ${data.decision}`);
        reload();
      }
    };
    setState('connecting');
    follow().catch((problem: unknown) => {
      if (!ending.signal.aborted)
        setState(`not live: ${problem instanceof Error ? problem.message : String(problem)}`);
    });
    return () => ending.abort();
  }, [who, reload]);
  return state;
}

const approverText = (approver: Pending['approver']): string =>
  approver === 'human'
    ? 'any registered agent but the one that asks'
    : 'agent' in approver
      ? approver.agent
      : `${approver.consensus} registered agents`;

/** One action: who asks for what and why, what it would change, and the decision. */
function Waiting({ pending, onDecided }: { readonly pending: Pending; readonly onDecided: () => void }) {
  const [remember, setRemember] = useState<string>('once');
  const decide = useTask(async (decision: 'approve' | 'deny') => {
    const input = { id: pending.id, remember: remember as (typeof REMEMBER)[number] };
    if (decision === 'approve') await call('memory_pending_approve', input);
    else await call('memory_pending_reject', input);
    announce(decision === 'approve' ? 'Approved' : 'Denied');
    onDecided();
  });
  const why = useLoad(`why ${pending.action_type} in ${pending.namespace}`, async (signal) =>
    whyItWaits(pending.action_type, await policyLevels(pending.namespace, signal)),
  );
  const {
    id,
    action_type: action,
    namespace,
    requested_by: by,
    requested_at: at,
    expires_at: until,
  } = pending;
  return (
    <article class="card" aria-labelledby={`pending-${id}`}>
      <h2 id={`pending-${id}`}>
        {action} in {namespace}
      </h2>
      <Facts
        of={[
          ['Asked by', by],
          ['Asked', agoText(at, Date.now())],
          ['Until', <Time key="until" at={until} />],
          ['Decided by', approverText(pending.approver)],
          ['Votes', String(pending.votes)],
          ['Why it waits', why.value],
        ]}
      />
      <Changes pending={pending} />
      <div class="row">
        <Field label="This decision holds" value={remember} onInput={setRemember} options={REMEMBER} />
        <button type="button" class="main" disabled={decide.isRunning} onClick={() => decide.run('approve')}>
          Approve
        </button>
        <button type="button" class="danger" disabled={decide.isRunning} onClick={() => decide.run('deny')}>
          Deny
        </button>
      </div>
      <Problem error={decide.error} />
    </article>
  );
}

/** The memory that an action is about as it is, and as it would be. */
function Changes({ pending }: { readonly pending: Pending }) {
  const { payload } = pending;
  // A store makes its memory only when it is approved.
  const id = pending.action_type === 'store' ? null : pending.memory_id;
  const { value } = useLoad(`before ${id ?? ''}`, async (signal): Promise<Before | null> => {
    if (id === null) return null;
    const found = await call('memory_get', { id }, { signal }).catch(() => null);
    return found === null ? null : (found.memory as unknown as Before);
  });
  if (payload === null)
    return <p class="quiet">It is about a memory that this agent may not see, so its text is not shown.</p>;
  const { rows, before, after } = changesOf(value, payload);
  return (
    <>
      {id !== null && value !== null && (
        <p>
          About <a href={addressOf('memories', id)}>{valueText(value['title'])}</a>
        </p>
      )}
      {rows.length > 0 && (
        <Table
          label="Before and after"
          rows={rows}
          keyOf={({ name }) => name}
          columns={[
            { name: 'Member', of: ({ name }) => name },
            { name: 'Before', of: (row) => row.before },
            { name: 'After', of: (row) => row.after },
          ]}
        />
      )}
      {after !== null && <Diff before={before ?? ''} after={after} />}
      <details>
        <summary>The whole request</summary>
        <Json value={payload} />
      </details>
    </>
  );
}

function Decided() {
  const [status, setStatus] = useState('approved');
  const { value, error } = useLoad(`decided ${status}`, (signal) =>
    call('memory_pending_list', { status: status as 'approved', limit: 50 }, { signal }),
  );
  return (
    <section class="card" aria-labelledby="decided">
      <div class="bar">
        <h2 id="decided">Earlier ones</h2>
        <Field
          label="State"
          value={status}
          onInput={setStatus}
          options={['approved', 'rejected', 'expired']}
        />
      </div>
      <Problem error={error} />
      {value?.count === 0 && <Empty>None.</Empty>}
      {value !== null && value.count > 0 && (
        <Table<Pending>
          label="Earlier actions"
          rows={value.pending}
          keyOf={({ id }) => id}
          columns={[
            { name: 'Action', of: ({ action_type: action }) => action },
            { name: 'Namespace', of: ({ namespace }) => namespace },
            { name: 'Asked by', of: ({ requested_by: by }) => valueText(by) },
            { name: 'Decided by', of: ({ decided_by: by }) => valueText(by) },
            { name: 'When', of: ({ decided_at: at, expires_at: until }) => <Time at={at ?? until} /> },
          ]}
        />
      )}
    </section>
  );
}

function RememberedDecisions() {
  const { value, error } = useLoad('remembered', (signal) => call('pending_remembered', {}, { signal }));
  return (
    <section class="card" aria-labelledby="remembered">
      <h2 id="remembered">Decisions that hold for later actions</h2>
      <Problem error={error} />
      {value?.count === 0 && <Empty>None.</Empty>}
      {value !== null && value.count > 0 && (
        <Table<Remembered>
          label="Remembered decisions"
          rows={value.remembered}
          keyOf={(row, index) => `${row.namespace} ${row.action_type} ${row.agent_id} ${index}`}
          columns={[
            { name: 'Namespace', of: ({ namespace }) => namespace },
            { name: 'Action', of: ({ action_type: action }) => action },
            { name: 'Agent', of: ({ agent_id: who }) => who },
            { name: 'Decision', of: ({ decision }) => decision },
            { name: 'Until', of: ({ until }) => until },
            { name: 'Decided by', of: ({ decided_by: by }) => by },
          ]}
        />
      )}
    </section>
  );
}
