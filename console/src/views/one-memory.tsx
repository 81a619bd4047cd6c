import { useState } from 'preact/hooks';
import { call, type Operations } from '../api.js';
import { fieldTimeOf, instantOf, wordsOf } from '../lib/format.js';
import { inTurns } from '../lib/in-turns.js';
import { KINDS } from '../lib/memory-rows.js';
import { addressOf } from '../lib/route.js';
import { go } from '../router.js';
import { announce, Empty, Loading, Problem } from '../ui/notices.js';
import { Dialog, Facts, Field, Form, Json, Table, Time } from '../ui/parts.js';
import { useLoad, useTask } from '../ui/use-load.js';
import { Erase } from './erase.js';
import { History } from './history.js';

type Memory = Operations['memory_get']['answer']['memory'];
type Link = Operations['memory_get_links']['answer']['links'][number];

const TIERS = ['short', 'mid', 'long'] as const;
/** Of the memories at the other ends of links. */
const TITLES_MAX = 50;

export function OneMemory({ id }: { readonly id: string }) {
  const { value, error, isLoading, reload } = useLoad(`memory ${id}`, (signal) =>
    call('memory_get', { id }, { signal }),
  );
  if (error !== null) return <NotHere id={id} error={error} reload={reload} />;
  if (value === null) return isLoading ? <Loading what="the memory" /> : null;
  const { memory } = value;
  return (
    <>
      <div class="bar">
        <h1>{memory.title}</h1>
        <Actions memory={memory} onChanged={reload} />
      </div>
      <p class="text">{memory.content}</p>
      <MemoryFacts memory={memory} />
      <Links id={memory.id} />
      <Lineage id={memory.id} />
      <History key={memory.version} memory={memory} onUndone={reload} />
    </>
  );
}

/** A memory that is not readable may lie in the archive, or was erased. */
function NotHere({
  id,
  error,
  reload,
}: {
  readonly id: string;
  readonly error: unknown;
  readonly reload: () => void;
}) {
  const [isErasing, setErasing] = useState(false);
  const erasures = useLoad(`erased ${id}`, (signal) => call('memory_erasures', { id }, { signal }));
  const restore = useTask(async () => {
    await call('memory_archive_restore', { id });
    announce('Restored');
    reload();
  });
  if ((erasures.value?.count ?? 0) > 0) {
    return (
      <>
        <h1>Memory</h1>
        <p>
          It was erased and cannot come back.{' '}
          <a href={addressOf('erasures', id)}>See on which nodes it is gone.</a>
        </p>
      </>
    );
  }
  return (
    <>
      <h1>Memory</h1>
      <Problem error={error} retry={reload} />
      <p class="row">
        It may lie in the archive:
        <button type="button" disabled={restore.isRunning} onClick={() => restore.run()}>
          Restore it
        </button>
        <button type="button" class="danger" onClick={() => setErasing(true)}>
          Erase …
        </button>
      </p>
      <Problem error={restore.error} />
      {isErasing && (
        <Erase
          id={id}
          title={null}
          owner={null}
          version={null}
          onClose={() => setErasing(false)}
          onLeft={() => go(addressOf('memories'))}
        />
      )}
    </>
  );
}

function MemoryFacts({ memory }: { readonly memory: Memory }) {
  const metadata = memory.metadata as Readonly<Record<string, unknown>>;
  const level = String(metadata['attest_level'] ?? 'unsigned');
  const writer = typeof metadata['agent_id'] === 'string' ? metadata['agent_id'] : null;
  return (
    <section class="card" aria-labelledby="facts">
      <h2 id="facts">Facts</h2>
      <Facts
        of={[
          [
            'Namespace',
            <a href={addressOf('memories', null, { namespace: memory.namespace })}>{memory.namespace}</a>,
          ],
          ['Written by', writer && <a href={addressOf('memories', null, { agent: writer })}>{writer}</a>],
          ['Signature', signatureText(level)],
          ['Tier', memory.tier],
          ['Kind', memory.kind],
          ['Priority', String(memory.priority)],
          ['Confidence', memory.confidence.toFixed(2)],
          ['Version', String(memory.version)],
          ['Created', <Time at={memory.created_at} />],
          ['Changed', <Time at={memory.updated_at} />],
          ['Last used', <Time at={memory.last_accessed_at} />],
          ['Expires', memory.expires_at === undefined ? 'never' : <Time at={memory.expires_at} />],
          ['Holds since', memory.valid_from === undefined ? '' : <Time at={memory.valid_from} />],
          ['Holds until', memory.valid_until === undefined ? '' : <Time at={memory.valid_until} />],
          ['Scope', String(metadata['scope'] ?? 'private')],
          ['Source', memory.source],
          ['Source address', String(memory['source_uri'] ?? '')],
          ['Tags', memory.tags.length === 0 ? '' : memory.tags.map((tag) => <Tag key={tag} tag={tag} />)],
          ['Id', <code>{memory.id}</code>],
        ]}
      />
      {Array.isArray(memory['citations']) && memory['citations'].length > 0 && (
        <>
          <h3>Citations</h3>
          <Json value={memory['citations']} />
        </>
      )}
      <details>
        <summary>Metadata</summary>
        <Json value={memory.metadata} />
      </details>
    </section>
  );
}

const Tag = ({ tag }: { readonly tag: string }) => (
  <a class="tag" href={addressOf('memories', null, { tag })}>
    {tag}
  </a>
);

const LEVELS: Readonly<Record<string, string>> = {
  unsigned: 'none: nobody vouches for the writer',
  claimed: 'none: the writer was only named',
};

const signatureText = (level: string): string => LEVELS[level] ?? level.replaceAll('_', ' ');

function Actions({ memory, onChanged }: { readonly memory: Memory; readonly onChanged: () => void }) {
  const [isEditing, setEditing] = useState(false);
  const [isErasing, setErasing] = useState(false);
  const promote = useTask(async () => {
    await call('memory_promote', { id: memory.id });
    announce('Promoted');
    onChanged();
  });
  const archive = useTask(async () => {
    await call('memory_archive', { ids: [memory.id], reason: 'console' });
    announce('Archived');
    go(addressOf('memories'));
  });
  const undo = useTask(async () => {
    await call('memory_undo_edit', { id: memory.id });
    announce('The last edit is undone');
    onChanged();
  });
  return (
    <div>
      <div class="row">
        <a class="tag" href={addressOf('graph', memory.id)}>
          Graph
        </a>
        <button type="button" onClick={() => setEditing(true)}>
          Edit
        </button>
        <button type="button" disabled={undo.isRunning || memory.version < 2} onClick={() => undo.run()}>
          Undo the last edit
        </button>
        <button
          type="button"
          disabled={promote.isRunning || memory.tier === 'long'}
          onClick={() => promote.run()}
        >
          Promote
        </button>
        <button type="button" class="danger" disabled={archive.isRunning} onClick={() => archive.run()}>
          Archive
        </button>
        <button type="button" class="danger" onClick={() => setErasing(true)}>
          Erase …
        </button>
      </div>
      <Problem error={undo.error ?? promote.error ?? archive.error} />
      {isErasing && (
        <Erase
          id={memory.id}
          title={memory.title}
          owner={typeof memory.metadata['agent_id'] === 'string' ? memory.metadata['agent_id'] : null}
          version={memory.version}
          onClose={() => setErasing(false)}
          onLeft={() => go(addressOf('memories'))}
        />
      )}
      {isEditing && (
        <Edit
          memory={memory}
          onClose={() => setEditing(false)}
          onSaved={() => {
            setEditing(false);
            onChanged();
          }}
        />
      )}
    </div>
  );
}

/** Changes a memory, unless somebody else has changed it since it was read. */
function Edit({
  memory,
  onClose,
  onSaved,
}: {
  readonly memory: Memory;
  readonly onClose: () => void;
  readonly onSaved: () => void;
}) {
  const [title, setTitle] = useState(memory.title);
  const [content, setContent] = useState(memory.content);
  const [tags, setTags] = useState(memory.tags.join(', '));
  const [tier, setTier] = useState(memory.tier);
  const [kind, setKind] = useState(memory.kind);
  const [priority, setPriority] = useState(String(memory.priority));
  const held = { from: fieldTimeOf(memory.valid_from), until: fieldTimeOf(memory.valid_until) };
  const [from, setFrom] = useState(held.from);
  const [until, setUntil] = useState(held.until);
  const save = useTask(async () => {
    const changed: Record<string, unknown> = {};
    if (title !== memory.title) changed['title'] = title;
    if (content !== memory.content) changed['content'] = content;
    if (tags !== memory.tags.join(', ')) changed['tags'] = wordsOf(tags);
    if (tier !== memory.tier) changed['tier'] = tier;
    if (kind !== memory.kind) changed['kind'] = kind;
    if (priority !== String(memory.priority)) changed['priority'] = Number(priority);
    if (from !== held.from) changed['valid_from'] = instantOf(from);
    if (until !== held.until) changed['valid_until'] = instantOf(until);
    await call('memory_update', { id: memory.id, expected_version: memory.version, ...changed });
    announce('Saved');
    onSaved();
  });
  return (
    <Dialog title="Edit the memory" onClose={onClose}>
      <Form label="Edit" onSubmit={() => save.run()}>
        <Field label="Title" value={title} onInput={setTitle} required />
        <Field label="Text" value={content} onInput={setContent} rows={10} required />
        <Field label="Tags" value={tags} onInput={setTags} hint="Words, separated by commas" />
        <div class="filters">
          <Field label="Tier" value={tier} onInput={setTier} options={TIERS} />
          <Field label="Kind" value={kind} onInput={setKind} options={KINDS.filter((each) => each !== '')} />
          <Field label="Priority" value={priority} onInput={setPriority} type="number" hint="1 to 10" />
        </div>
        <div class="two">
          <Field
            label="Holds since"
            value={from}
            onInput={setFrom}
            type="datetime-local"
            hint="Empty: it always held"
          />
          <Field
            label="Holds until"
            value={until}
            onInput={setUntil}
            type="datetime-local"
            hint="Empty: it still holds. The memory stays as an answer about the past."
          />
        </div>
        <Problem error={save.error} />
        <div class="row">
          <button type="submit" class="main" disabled={save.isRunning}>
            Save
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </Form>
    </Dialog>
  );
}

function Links({ id }: { readonly id: string }) {
  const { value, error } = useLoad(`links ${id}`, (signal) => call('memory_get_links', { id }, { signal }));
  const { value: titles } = useLoad(`titles ${id} ${value?.count ?? ''}`, async (signal) =>
    titlesOf((value?.links ?? []).map((link) => otherEnd(link, id)).slice(0, TITLES_MAX), signal),
  );
  return (
    <section class="card" aria-labelledby="links">
      <h2 id="links">Links</h2>
      <Problem error={error} />
      {value?.count === 0 && <Empty>It has none.</Empty>}
      {value !== null && value.count > 0 && (
        <Table
          label="Links"
          rows={value.links}
          keyOf={(link) => `${link.source_id} ${link.relation} ${link.target_id}`}
          columns={[
            {
              name: 'Relation',
              of: (link) => (link.source_id === id ? `${link.relation} →` : `← ${link.relation}`),
            },
            { name: 'Memory', of: (link) => <Other id={otherEnd(link, id)} titles={titles} /> },
            { name: 'Valid from', of: ({ valid_from: at }) => <Time at={at} /> },
            { name: 'Valid until', of: ({ valid_until: at }) => <Time at={at} /> },
            { name: 'Seen by', of: ({ observed_by: by }) => by ?? '–' },
            { name: 'Signature', of: ({ attest_level: level }) => signatureText(level) },
          ]}
        />
      )}
    </section>
  );
}

const otherEnd = (link: Link, id: string): string =>
  link.source_id === id ? link.target_id : link.source_id;

/** What the memories of these ids are called; those that are gone or not to be seen are left out. */
async function titlesOf(ids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  const found = await inTurns([...new Set(ids)], (id) =>
    call('memory_get', { id }, { signal }).then(
      ({ memory }) => [[id, memory.title] as const],
      () => [],
    ),
  );
  return new Map(found.flat());
}

function Other({ id, titles }: { readonly id: string; readonly titles: ReadonlyMap<string, string> | null }) {
  return <a href={addressOf('memories', id)}>{titles?.get(id) ?? <code>{id.slice(0, 8)}</code>}</a>;
}

/** What it was made from, and what was made from it. */
function Lineage({ id }: { readonly id: string }) {
  const { value, error } = useLoad(`lineage ${id}`, async (signal) => ({
    from: await call('memory_lineage', { id, direction: 'ancestors' }, { signal }),
    into: await call('memory_lineage', { id, direction: 'descendants' }, { signal }),
  }));
  const rows = value === null ? [] : [...value.from.nodes, ...value.into.nodes];
  if (error === null && rows.length === 0) return null;
  return (
    <section class="card" aria-labelledby="lineage">
      <h2 id="lineage">Provenance</h2>
      <Problem error={error} />
      {value !== null && (
        <div class="two">
          <Origins title="Made from" nodes={value.from.nodes} />
          <Origins title="Made into" nodes={value.into.nodes} />
        </div>
      )}
    </section>
  );
}

type Origin = Operations['memory_lineage']['answer']['nodes'][number];

const Origins = ({ title, nodes }: { readonly title: string; readonly nodes: readonly Origin[] }) => (
  <div>
    <h3>{title}</h3>
    {nodes.length === 0 && <Empty>Nothing.</Empty>}
    <ul>
      {nodes.map((node) => (
        <li key={node.id}>
          <a href={addressOf('memories', node.id)}>{node.title ?? 'removed'}</a>{' '}
          <span class="quiet">
            {node.relation}, {node.depth} away
          </span>
        </li>
      ))}
    </ul>
  </div>
);
