import { useState } from 'preact/hooks';
import { call, type Operations } from '../api.js';
import { standingText } from '../lib/erasures.js';
import { nodeName } from '../lib/mesh-status.js';
import { addressOf } from '../lib/route.js';
import { place } from '../router.js';
import { Empty, Loading, Problem } from '../ui/notices.js';
import { Field, Table, Time } from '../ui/parts.js';
import { useLoad } from '../ui/use-load.js';
import { Copies, ErasureStatus, useNames } from './erasure-status.js';

type Erasure = Operations['memory_erasures']['answer']['erasures'][number];

const ROWS = 50;
const ROWS_MAX = 500;

export function Erasures() {
  const { subject } = place.value;
  if (subject === null) return <ErasureList />;
  return (
    <>
      <div class="bar">
        <h1>Erasures</h1>
        <a href={addressOf('erasures')}>All erasures</a>
      </div>
      <section class="card" aria-labelledby="one-erasure">
        <h2 id="one-erasure">One erasure</h2>
        <ErasureStatus key={subject} id={subject} />
      </section>
    </>
  );
}

/** The memories that were erased, with the nodes that have done so. */
function ErasureList() {
  const [limit, setLimit] = useState(ROWS);
  const [which, setWhich] = useState('all');
  const { value, error, isLoading, reload } = useLoad(`erasures ${limit}`, (signal) =>
    call('memory_erasures', { limit }, { signal }),
  );
  const mesh = useNames();
  const named = (ids: readonly string[]) => ids.map((id) => nodeName(mesh, id)).join(', ') || '–';
  const rows = (value?.erasures ?? []).filter(({ missing }) => which === 'all' || missing.length > 0);
  const open = (value?.erasures ?? []).filter(({ missing }) => missing.length > 0).length;
  return (
    <>
      <div class="bar">
        <h1>Erasures</h1>
        <button type="button" disabled={isLoading} onClick={reload}>
          Look again
        </button>
      </div>
      <p class="quiet">
        What was erased with its text, its versions and its copies. Agents see what they erased, admins see
        all. A memory is erased from its own page.
      </p>
      <Problem error={error} retry={reload} />
      {isLoading && value === null && <Loading what="the erasures" />}
      {value !== null && value.count === 0 && <Empty>Nothing was erased.</Empty>}
      {value !== null && value.count > 0 && (
        <section class="card" aria-labelledby="erased">
          <h2 id="erased">Erased memories</h2>
          <p role="status" class={open === 0 ? 'good' : 'warm'}>
            {open === 0
              ? 'Each of them is gone on all nodes that may hold it.'
              : `${open} of ${value.count} wait for a node that has not said yet that it is done.`}
          </p>
          <div class="row">
            <Field
              label="Show"
              value={which}
              onInput={setWhich}
              options={[
                ['all', 'all'],
                ['open', 'only those with missing nodes'],
              ]}
            />
          </div>
          {rows.length === 0 && <Empty>None of them waits.</Empty>}
          {rows.length > 0 && (
            <Table<Erasure>
              label="Erased memories"
              rows={rows}
              keyOf={({ id }) => id}
              columns={[
                {
                  name: 'Memory',
                  of: ({ id }) => (
                    <a href={addressOf('erasures', id)}>
                      <code>{id}</code>
                    </a>
                  ),
                },
                { name: 'Namespace', of: ({ namespace }) => namespace },
                { name: 'Erased', of: ({ erased_at: at }) => <Time at={at} /> },
                { name: 'By', of: ({ erased_by: by }) => by ?? 'at another node' },
                {
                  name: 'State',
                  of: (row) => (
                    <span class={row.missing.length === 0 ? 'good' : 'warm'}>{standingText(row)}</span>
                  ),
                },
                { name: 'Missing nodes', of: ({ missing }) => named(missing) },
                { name: 'Nodes without the namespace', of: ({ outside }) => named(outside) },
              ]}
            />
          )}
          {value.truncated === true &&
            (limit < ROWS_MAX ? (
              <button type="button" disabled={isLoading} onClick={() => setLimit(ROWS_MAX)}>
                Older ones
              </button>
            ) : (
              <p class="quiet">Older ones are left out: mnemesh erasure status has them by id.</p>
            ))}
        </section>
      )}
      {value !== null && value.count > 0 && (
        <section class="card" aria-labelledby="copies">
          <h2 id="copies">Backups and exports from before</h2>
          {value.copies.length === 0 && (
            <Empty>None that this node knows of and the agent at the top may see.</Empty>
          )}
          <Copies copies={value.copies} />
        </section>
      )}
    </>
  );
}
