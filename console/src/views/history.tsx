import { call, type Operations } from '../api.js';
import { Diff } from '../ui/diff.js';
import { announce, Empty, Problem } from '../ui/notices.js';
import { Time } from '../ui/parts.js';
import { useLoad, useTask } from '../ui/use-load.js';

type Memory = Operations['memory_get']['answer']['memory'];
type Version = Operations['memory_history']['answer']['versions'][number];

/** The versions of a memory, each with what it changed; an earlier one can come back. */
export function History({ memory, onUndone }: { readonly memory: Memory; readonly onUndone: () => void }) {
  const { id, version } = memory;
  const { value, error } = useLoad(`history ${id} ${version}`, (signal) =>
    call('memory_history', { id }, { signal }),
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
      {value?.count === 0 && <Empty>The log of this node no longer holds it.</Empty>}
      <ol reversed>
        {value?.versions.map((each, index) => (
          <li key={each.op_id}>
            {each.change}, <Time at={each.at} /> on <code>{each.node}</code>{' '}
            {index > 0 && each.memory !== null && (
              <button type="button" disabled={back.isRunning} onClick={() => back.run(each.op_id)}>
                Bring this version back
              </button>
            )}
            <Change version={each} before={value.versions[index + 1] ?? null} />
          </li>
        ))}
      </ol>
      {value?.truncated === true && <p class="quiet">Older versions are left out.</p>}
    </section>
  );
}

function Change({ version, before }: { readonly version: Version; readonly before: Version | null }) {
  const { memory } = version;
  if (memory === null) return <p class="quiet">Its text is gone from the log, or was not yours to see.</p>;
  const earlier = before?.memory ?? null;
  const facts = (['title', 'namespace', 'tier', 'kind', 'priority', 'tags'] as const)
    .filter((name) => earlier !== null && String(earlier[name]) !== String(memory[name]))
    .map((name) => `${name}: ${String(earlier![name])} → ${String(memory[name])}`);
  return (
    <details>
      <summary>{earlier === null ? 'Text' : facts.length > 0 ? facts.join('; ') : 'What changed'}</summary>
      <Diff before={earlier?.content ?? ''} after={memory.content} />
    </details>
  );
}
