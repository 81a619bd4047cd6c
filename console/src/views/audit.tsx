import { useState } from 'preact/hooks';
import { call, type Operations } from '../api.js';
import { addressOf } from '../lib/route.js';
import { Empty, Loading, Problem } from '../ui/notices.js';
import { Facts, Json, Table, Time } from '../ui/parts.js';
import { useLoad, useTask } from '../ui/use-load.js';

type Row = Operations['audit_list']['answer']['rows'][number];

export function Audit() {
  const [older, setOlder] = useState<{ readonly rows: readonly Row[]; readonly next: number | null } | null>(
    null,
  );
  const { value, error, isLoading, reload } = useLoad('audit', async (signal) => {
    setOlder(null);
    return call('audit_list', { limit: 100 }, { signal });
  });
  const rows = [...(value?.rows ?? []), ...(older?.rows ?? [])];
  const next = older === null ? (value?.next_before ?? null) : older.next;
  const more = useTask(async () => {
    const answer = await call('audit_list', { limit: 100, before: next! });
    setOlder({ rows: [...(older?.rows ?? []), ...answer.rows], next: answer.next_before ?? null });
  });
  return (
    <>
      <div class="bar">
        <h1>Audit</h1>
        <button type="button" onClick={reload}>
          Read again
        </button>
      </div>
      <Chain />
      <section class="card" aria-labelledby="events">
        <h2 id="events">Who did what</h2>
        <Problem error={error ?? more.error} retry={reload} />
        {isLoading && value === null && <Loading what="the audit chain" />}
        {value !== null && rows.length === 0 && <Empty>Nothing yet.</Empty>}
        {rows.length > 0 && (
          <Table<Row>
            label="Events"
            rows={rows}
            keyOf={({ sequence }) => String(sequence)}
            columns={[
              { name: 'No.', of: ({ sequence }) => sequence },
              { name: 'When', of: ({ timestamp }) => <Time at={timestamp} /> },
              {
                name: 'Who',
                of: ({ agent_id: who }) => <a href={addressOf('memories', null, { agent: who })}>{who}</a>,
              },
              { name: 'What', of: ({ event_type: what }) => what },
              {
                name: 'Signature',
                of: ({ signed, attest_level: level }) => (signed ? level.replaceAll('_', ' ') : 'none'),
              },
              { name: 'Details', of: (row) => <Details row={row} /> },
            ]}
          />
        )}
        {next !== null && (
          <button type="button" disabled={more.isRunning} onClick={() => more.run()}>
            Older ones
          </button>
        )}
      </section>
    </>
  );
}

const Details = ({ row }: { readonly row: Row }) =>
  row.payload === null ? (
    <>–</>
  ) : (
    <details>
      <summary>Show</summary>
      <Json value={row.payload} />
    </details>
  );

/** Whether the chain holds: each row has the hash of the one before, and its signature. */
function Chain() {
  const { value, error, reload } = useLoad('chain', (signal) =>
    call('verify_signed_events_chain', {}, { signal }),
  );
  return (
    <section class="card" aria-labelledby="chain">
      <h2 id="chain">The chain</h2>
      <Problem error={error} retry={reload} />
      {value !== null && (
        <>
          <p class={value.chain_holds ? 'good' : 'badtext'}>
            {value.chain_holds ? 'It holds: nothing was changed or cut off.' : 'It does not hold.'}
          </p>
          <Facts
            of={[
              ['Rows', String(value.rows_checked)],
              ['Broken at', value.chain_break === null ? '–' : String(value.chain_break)],
              ['Wrong signatures', String(value.signature_failures.length)],
              ['Unsigned', String(value.unsigned)],
              ['Signed by others', String(value.foreign_signatures)],
              ['End', value.head],
            ]}
          />
        </>
      )}
    </section>
  );
}
