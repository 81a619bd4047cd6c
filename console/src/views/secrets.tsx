import { useState } from 'preact/hooks';
import { call, type Operations, read } from '../api.js';
import { type FoundSecrets, modeText, secretsOf } from '../lib/secrets.js';
import { Empty, Loading, Problem } from '../ui/notices.js';
import { Json, Table, Time } from '../ui/parts.js';
import { useLoad, useTask } from '../ui/use-load.js';

type Mode = Operations['secret_modes']['answer']['namespaces'][number];
type Row = Operations['audit_list']['answer']['rows'][number];

const AUDIT_ROWS = 1000;

/** What the node does with secrets and what it found; the secrets themselves are nowhere. */
export function Secrets() {
  return (
    <>
      <h1>Secrets</h1>
      <p class="quiet">
        Keys, tokens and passwords in what is stored. Only their kinds are known here: the secrets themselves
        are kept nowhere.
      </p>
      <Modes />
      <Found />
      <Events />
    </>
  );
}

function Modes() {
  const { value, error, isLoading, reload } = useLoad('secret modes', (signal) =>
    call('secret_modes', {}, { signal }),
  );
  const rows: readonly Mode[] =
    value === null ? [] : [...value.namespaces, { namespace_pattern: '', mode: value.mode }];
  return (
    <section class="card" aria-labelledby="modes">
      <h2 id="modes">What happens with a text that holds one</h2>
      <Problem error={error} retry={reload} />
      {isLoading && value === null && <Loading what="the modes" />}
      {value !== null && (
        <>
          <Table<Mode>
            label="Modes"
            rows={rows}
            keyOf={({ namespace_pattern: where }) => where}
            columns={[
              {
                name: 'Namespaces',
                of: ({ namespace_pattern: where }) =>
                  where === '' ? rows.length === 1 ? 'all' : 'all others' : <code>{where}</code>,
              },
              { name: 'Mode', of: ({ mode }) => modeText(mode) },
            ]}
          />
          <p class="quiet">
            <code>SVC_SECRETS</code> and <code>[secrets]</code> in the configuration of the node set the
            modes; the most exact pattern counts.
          </p>
        </>
      )}
    </section>
  );
}

function Found() {
  const { value, error, reload } = useLoad('found secrets', async (signal) =>
    secretsOf(await read('/metrics', signal)),
  );
  return (
    <section class="card" aria-labelledby="found">
      <div class="bar">
        <h2 id="found">Found since the node started</h2>
        <button type="button" onClick={reload}>
          Count again
        </button>
      </div>
      <Problem error={error} />
      {value?.length === 0 && <Empty>None.</Empty>}
      {value !== null && value.length > 0 && (
        <Table<FoundSecrets>
          label="Found secrets"
          rows={value}
          keyOf={({ kind, outcome }) => `${kind} ${outcome}`}
          columns={[
            { name: 'Kind', of: ({ kind }) => kind },
            { name: 'What became of it', of: ({ outcome }) => outcome },
            { name: 'How often', of: ({ count }) => count },
          ]}
        />
      )}
    </section>
  );
}

/** Where they were found, from the audit chain. */
function Events() {
  const [older, setOlder] = useState<readonly Row[]>([]);
  const [next, setNext] = useState<number | null>(null);
  const { value, error, isLoading, reload } = useLoad('secret events', async (signal) => {
    const answer = await call('audit_list', { limit: AUDIT_ROWS }, { signal });
    setOlder([]);
    setNext(answer.next_before ?? null);
    return answer.rows;
  });
  const more = useTask(async () => {
    const answer = await call('audit_list', { limit: AUDIT_ROWS, before: next! });
    setOlder((before) => [...before, ...answer.rows]);
    setNext(answer.next_before ?? null);
  });
  const looked = [...(value ?? []), ...older];
  const rows = looked.filter(({ event_type: what }) => what.startsWith('secret.'));
  return (
    <section class="card" aria-labelledby="events">
      <h2 id="events">In the audit chain</h2>
      <Problem error={error ?? more.error} retry={reload} />
      {isLoading && value === null && <Loading what="the audit chain" />}
      {value !== null && rows.length === 0 && <Empty>None among the last {looked.length} events.</Empty>}
      {rows.length > 0 && (
        <Table<Row>
          label="Secrets in the audit chain"
          rows={rows}
          keyOf={({ sequence }) => String(sequence)}
          columns={[
            { name: 'When', of: ({ timestamp: at }) => <Time at={at} /> },
            { name: 'Who', of: ({ agent_id: who }) => who },
            { name: 'What became of it', of: ({ event_type: what }) => what.slice('secret.'.length) },
            { name: 'Where', of: ({ payload }) => <Json value={payload ?? '–'} /> },
          ]}
        />
      )}
      {next !== null && (
        <button type="button" disabled={more.isRunning} onClick={() => more.run()}>
          Look further back
        </button>
      )}
    </section>
  );
}
