import { useState } from 'preact/hooks';
import { call, meshStatus, type Operations } from '../api.js';
import { valueText } from '../lib/format.js';
import { type MeshStatus, nodeName } from '../lib/mesh-status.js';
import { addressOf } from '../lib/route.js';
import { go, place } from '../router.js';
import { Diff } from '../ui/diff.js';
import { announce, Empty, Loading, Problem } from '../ui/notices.js';
import { Field, Form, Time } from '../ui/parts.js';
import { useLoad, useTask } from '../ui/use-load.js';

type Conflict = Operations['mesh_conflicts']['answer']['conflicts'][number];
type Memory = Operations['memory_contradictions']['answer']['memories'][number];

export function Conflicts() {
  return (
    <>
      <h1>Conflicts</h1>
      <Contradictions />
      <LostEdits />
    </>
  );
}

/** Pairs of memories that contradict each other, side by side; one of them stays. */
function Contradictions() {
  const { query } = place.value;
  const [topic, setTopic] = useState(query['topic'] ?? '');
  const [namespace, setNamespace] = useState(query['namespace'] ?? '');
  const input = {
    topic: query['topic'] === '' ? undefined : query['topic'],
    namespace: query['namespace'] === '' ? undefined : query['namespace'],
    limit: 50,
  };
  const isAsked = input.topic !== undefined || input.namespace !== undefined;
  const { value, error, isLoading, reload } = useLoad(
    `contradictions ${JSON.stringify(input)}`,
    async (signal) => (isAsked ? call('memory_contradictions', input as never, { signal }) : null),
  );
  const byId = new Map(value?.memories.map((memory) => [memory.id, memory]));
  const pairs = (value?.links ?? [])
    .map(({ source_id: a, target_id: b }) => [byId.get(a), byId.get(b)] as const)
    .filter((pair): pair is readonly [Memory, Memory] => pair[0] !== undefined && pair[1] !== undefined);
  return (
    <section class="card" aria-labelledby="contradictions">
      <h2 id="contradictions">Memories that contradict each other</h2>
      <Form
        label="Find contradictions"
        role="search"
        class="row"
        onSubmit={() => go(addressOf('conflicts', null, { topic, namespace }))}
      >
        <Field label="About" value={topic} onInput={setTopic} />
        <Field label="Namespace" value={namespace} onInput={setNamespace} />
        <button type="submit" class="main">
          Find
        </button>
      </Form>
      <Problem error={error} retry={reload} />
      {!isAsked && <Empty>Name a subject or a namespace.</Empty>}
      {isAsked && isLoading && <Loading what="contradictions" />}
      {value !== null && pairs.length === 0 && <Empty>None.</Empty>}
      {pairs.map(([a, b]) => (
        <Pair key={`${a.id} ${b.id}`} a={a} b={b} onSettled={reload} />
      ))}
    </section>
  );
}

function Pair({
  a,
  b,
  onSettled,
}: {
  readonly a: Memory;
  readonly b: Memory;
  readonly onSettled: () => void;
}) {
  const settle = useTask(async (winner: string, loser: string) => {
    await call('memory_resolve', { winner, loser });
    announce('Settled');
    onSettled();
  });
  const sides = [
    [a, b],
    [b, a],
  ] as const;
  return (
    <div class="two">
      {sides.map(([shown, other]) => (
        <article class="card" key={shown.id}>
          <h3>
            <a href={addressOf('memories', shown.id)}>{shown.title}</a>
          </h3>
          <p class="quiet">
            {shown.namespace} · {valueText(shown.metadata['agent_id'])} · <Time at={shown.updated_at} />
          </p>
          <p class="text">{shown.content}</p>
          <button type="button" disabled={settle.isRunning} onClick={() => settle.run(shown.id, other.id)}>
            Keep this, archive the other
          </button>
        </article>
      ))}
      <Problem error={settle.error} />
    </div>
  );
}

/** Edits that lost against one made at the same time on another node. */
function LostEdits() {
  const { value, error, isLoading, reload } = useLoad('conflicts', (signal) =>
    call('mesh_conflicts', {}, { signal }),
  );
  const mesh = useLoad('names of nodes', (signal) => meshStatus({ compare: false, signal }));
  return (
    <section class="card" aria-labelledby="lost">
      <h2 id="lost">Edits that lost against another node's</h2>
      <Problem error={error} retry={reload} />
      {isLoading && value === null && <Loading what="conflicts" />}
      {value?.count === 0 && <Empty>None: every edit stands.</Empty>}
      {value?.conflicts.map((conflict) => (
        <Lost
          key={`${conflict.subject} ${conflict.op_id ?? ''}`}
          conflict={conflict}
          mesh={mesh.value}
          onTaken={reload}
        />
      ))}
    </section>
  );
}

function Lost({
  conflict,
  mesh,
  onTaken,
}: {
  readonly conflict: Conflict;
  readonly mesh: MeshStatus | null;
  readonly onTaken: () => void;
}) {
  const {
    subject,
    op_id: operation,
    kind,
    of,
    lost,
    present,
    lost_at: at,
    lost_by: by,
    namespace,
  } = conflict;
  const take = useTask(async () => {
    await call('mesh_conflict_take', { id: subject, op_id: operation! });
    announce('The text that lost is back');
    onTaken();
  });
  const text = (contents: Readonly<Record<string, unknown>> | null) =>
    valueText(contents?.['content'] ?? contents);
  return (
    <article class="card">
      <h3>
        {of === 'memory' ? (
          <a href={addressOf('memories', subject)}>{valueText(present?.['title'])}</a>
        ) : (
          `${of} ${subject}`
        )}
      </h3>
      <p class="quiet">
        {namespace} ·{' '}
        {kind === 'title' ? 'another memory holds the title' : `written on ${nodeName(mesh, by)}`} ·{' '}
        <Time at={at} />
      </p>
      <div class="two">
        <div>
          <h3>Stands</h3>
          <p class="text">{text(present)}</p>
        </div>
        <div>
          <h3>Lost: {valueText(lost?.['title'])}</h3>
          <p class="text">{text(lost)}</p>
        </div>
      </div>
      <details>
        <summary>Differences</summary>
        <Diff before={text(present)} after={text(lost)} />
      </details>
      {operation !== null && of === 'memory' && (
        <button type="button" disabled={take.isRunning || lost === null} onClick={() => take.run()}>
          Take the text that lost back
        </button>
      )}
      <Problem error={take.error} />
    </article>
  );
}
