import { useState } from 'preact/hooks';
import { call, type Operations } from '../api.js';
import { timeText } from '../lib/format.js';
import { Diff } from '../ui/diff.js';
import { announce, Empty, Loading, Problem } from '../ui/notices.js';
import { cell, Field, Form, Table, Time } from '../ui/parts.js';
import { useLoad, useTask } from '../ui/use-load.js';

type Memory = Operations['memory_get']['answer']['memory'];
type Version = Operations['memory_history']['answer']['versions'][number];
type Change = NonNullable<Operations['memory_history']['answer']['changes']>[number];

const VERSIONS = 20;
const VERSIONS_MAX = 100;

/** The versions of a memory with their writers; two of them side by side; an earlier one can come back. */
export function History({ memory, onUndone }: { readonly memory: Memory; readonly onUndone: () => void }) {
  const { id, version } = memory;
  const [limit, setLimit] = useState(VERSIONS);
  const { value, error, isLoading } = useLoad(`history ${id} ${version} ${limit}`, (signal) =>
    call('memory_history', { id, limit }, { signal }),
  );
  const back = useTask(async (to: string) => {
    await call('memory_undo_edit', { id, to });
    announce('The earlier version is back');
    onUndone();
  });
  return (
    <section class="card" aria-labelledby="history">
      <h2 id="history">History</h2>
      <Problem error={error ?? back.error} />
      {isLoading && value === null && <Loading what="the versions" />}
      {value?.count === 0 && <Empty>The log of this node no longer holds it.</Empty>}
      <ol reversed>
        {value?.versions.map((each, index) => (
          <li key={each.op_id}>
            {each.version !== null && <b>Version {each.version}: </b>}
            {each.change}, <Time at={each.at} />
            {each.agent_id !== null && ` by ${each.agent_id}`} on <code>{each.node}</code>{' '}
            {index > 0 && each.memory !== null && (
              <button type="button" disabled={back.isRunning} onClick={() => back.run(each.op_id)}>
                Bring this version back
              </button>
            )}
            <WhatChanged version={each} before={value.versions[index + 1] ?? null} />
          </li>
        ))}
      </ol>
      {value?.truncated === true &&
        (limit < VERSIONS_MAX ? (
          <button type="button" disabled={isLoading} onClick={() => setLimit(VERSIONS_MAX)}>
            Older versions
          </button>
        ) : (
          <p class="quiet">Older versions are left out.</p>
        ))}
      {value !== null && <Compare id={id} versions={value.versions} />}
    </section>
  );
}

function WhatChanged({ version, before }: { readonly version: Version; readonly before: Version | null }) {
  const { memory } = version;
  if (memory === null) return <p class="quiet">Its text is gone from the log, or was not yours to see.</p>;
  const earlier = before?.memory ?? null;
  const names = [
    ...(['title', 'namespace', 'tier', 'kind', 'priority', 'tags'] as const),
    ...(['valid_from', 'valid_until'] as const),
  ];
  const facts = names
    .filter((name) => earlier !== null && String(earlier[name]) !== String(memory[name]))
    .map((name) => `${nameOf(name)}: ${shownOf(name, earlier![name])} → ${shownOf(name, memory[name])}`);
  return (
    <details>
      <summary>{earlier === null ? 'Text' : facts.length > 0 ? facts.join('; ') : 'What changed'}</summary>
      <Diff before={earlier?.content ?? ''} after={memory.content} />
    </details>
  );
}

/** Chooses two of the versions that are kept and shows what differs. */
function Compare({ id, versions }: { readonly id: string; readonly versions: readonly Version[] }) {
  const kept = versions.filter(({ memory }) => memory !== null);
  const [from, setFrom] = useState(kept[1]?.op_id ?? '');
  const [to, setTo] = useState(kept[0]?.op_id ?? '');
  const [pair, setPair] = useState<readonly [string, string] | null>(null);
  if (kept.length < 2) return null;
  const options = kept.map(
    ({ op_id, version, at, agent_id: by }) =>
      [op_id, `version ${version}, ${timeText(at)}${by === null ? '' : `, ${by}`}`] as const,
  );
  return (
    <>
      <h3>Compare two versions</h3>
      <Form label="Compare two versions" class="row" onSubmit={() => setPair([from, to])}>
        <Field label="Before" value={from} onInput={setFrom} options={options} />
        <Field label="After" value={to} onInput={setTo} options={options} />
        <button type="submit" disabled={from === to}>
          Compare
        </button>
      </Form>
      {pair !== null && <Compared id={id} from={pair[0]} to={pair[1]} />}
    </>
  );
}

function Compared({ id, from, to }: { readonly id: string; readonly from: string; readonly to: string }) {
  const { value, error, isLoading, reload } = useLoad(`compare ${id} ${from} ${to}`, (signal) =>
    call('memory_history', { id, from, to }, { signal }),
  );
  const changes = value?.changes ?? [];
  const content = changes.find(({ field }) => field === 'content');
  const others = changes.filter((change) => change !== content);
  return (
    <>
      <Problem error={error} retry={reload} />
      {isLoading && value === null && <Loading what="both versions" />}
      {value !== null && changes.length === 0 && <Empty>They say the same.</Empty>}
      {others.length > 0 && (
        <Table<Change>
          label="What differs"
          rows={others}
          keyOf={({ field }) => field}
          columns={[
            { name: 'Field', of: ({ field }) => nameOf(field) },
            { name: 'Before', of: ({ field, before }) => shownOf(field, before) },
            { name: 'After', of: ({ field, after }) => shownOf(field, after) },
          ]}
        />
      )}
      {content !== undefined && <Diff before={String(content.before)} after={String(content.after)} />}
    </>
  );
}

const NAMES: Readonly<Record<string, string>> = { valid_from: 'holds since', valid_until: 'holds until' };

const nameOf = (field: string): string => NAMES[field] ?? field.replaceAll('_', ' ');

const shownOf = (field: string, value: unknown): string =>
  typeof value === 'string' && /^(valid_|expires_)/.test(field) ? timeText(value) : cell(value);
