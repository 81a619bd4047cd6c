import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { call, type Operations } from '../api.js';
import { agoText, instantOf } from '../lib/format.js';
import { KINDS, type MemoryRow, memoryRow, validityText, whyText } from '../lib/memory-rows.js';
import { addressOf } from '../lib/route.js';
import { go, place } from '../router.js';
import { agent, apiKey } from '../session.js';
import { LongList } from '../ui/long-list.js';
import { announce, Empty, Loading, Problem } from '../ui/notices.js';
import { Field, Form } from '../ui/parts.js';
import { FirstRun } from './first-run.js';
import { OneMemory } from './one-memory.js';
import { Writer } from './writer.js';

const PAGE = 200;
const RECALLED_MAX = 50;
const MODES = ['list', 'search', 'recall', 'archive'] as const;
const TIERS = ['', 'short', 'mid', 'long'] as const;

type Query = Readonly<Record<string, string>>;
type Tier = 'short' | 'mid' | 'long';

export function Memories() {
  const { subject } = place.value;
  return subject === null ? <MemoryList /> : <OneMemory key={subject} id={subject} />;
}

/** The rows that were read so far, and how to read on. */
interface Rows {
  readonly rows: readonly MemoryRow[];
  readonly next: string | null;
  readonly note: string;
  readonly isLoading: boolean;
  readonly error: unknown;
}

const NOTHING: Rows = { rows: [], next: null, note: '', isLoading: true, error: null };

function MemoryList() {
  const { query } = place.value;
  const [found, more, reload] = useRows(query);
  const isFiltered = Object.entries(query).some(([name, value]) => name !== 'mode' && value !== '');
  const isEmpty = !found.isLoading && found.error === null && found.rows.length === 0 && found.next === null;
  return (
    <>
      <h1>Memories</h1>
      <Filters query={query} key={JSON.stringify(query)} />
      {(query['agent'] ?? '') !== '' && <Writer id={query['agent']!} />}
      <Problem error={found.error} retry={reload} />
      {found.note !== '' && <p class="quiet">{found.note}</p>}
      {isEmpty && !isFiltered && (query['mode'] ?? 'list') === 'list' && <FirstRun onImported={reload} />}
      {isEmpty && (isFiltered || (query['mode'] ?? 'list') !== 'list') && <Empty>No memory fits.</Empty>}
      {found.isLoading && found.rows.length === 0 && <Loading what="memories" />}
      {found.rows.length > 0 && (
        <LongList
          label="Memories"
          rows={found.rows}
          hasMore={found.next !== null}
          onMore={more}
          keyOf={({ id }) => id}
        >
          {(row) => <Row row={row} />}
        </LongList>
      )}
    </>
  );
}

function Row({ row }: { readonly row: MemoryRow }) {
  const { id, title, namespace, tier, kind, tags, agent: writer, updatedAt, passage, score, why } = row;
  const validity = validityText(row, place.value.query['as_of'] ?? '');
  const facts = [namespace, tier, kind, writer, tags.map((tag) => `#${tag}`).join(' ')];
  return (
    <a href={addressOf('memories', id)}>
      <span class="line">
        {score !== null && <b>{score.toFixed(2)} </b>}
        <b>{title}</b> {validity !== '' && <span class="badtext">({validity}) </span>}
        {why !== null && <span class="warm">({why}) </span>}
        <span class="quiet">{passage}</span>
      </span>
      <span class="line quiet">
        {[...facts.filter((fact) => fact !== ''), agoText(updatedAt, Date.now())].join(' · ')}
      </span>
    </a>
  );
}

function Filters({ query }: { readonly query: Query }) {
  const [form, setForm] = useState<Query>({ mode: 'list', ...query });
  const set = (name: string) => (value: string) => setForm((before) => ({ ...before, [name]: value }));
  const of = (name: string) => form[name] ?? '';
  const mode = of('mode');
  return (
    <Form label="Find memories" role="search" onSubmit={() => go(addressOf('memories', null, form))}>
      <div class="filters">
        <Field label="How" value={mode} onInput={set('mode')} options={MODES} />
        {(mode === 'search' || mode === 'recall') && (
          <Field
            label={mode === 'search' ? 'Words' : 'Question'}
            value={of('q')}
            onInput={set('q')}
            type="search"
            required
          />
        )}
        <Field
          label="Namespace"
          value={of('namespace')}
          onInput={set('namespace')}
          placeholder="team/** for all"
        />
        {mode !== 'archive' && mode !== 'recall' && (
          <Field label="Tier" value={of('tier')} onInput={set('tier')} options={TIERS} />
        )}
        {mode !== 'archive' && (
          <Field label="Kind" value={of('kind')} onInput={set('kind')} options={KINDS} />
        )}
        {mode !== 'archive' && <Field label="Tag" value={of('tag')} onInput={set('tag')} />}
        {mode !== 'archive' && mode !== 'recall' && (
          <Field label="Written by" value={of('agent')} onInput={set('agent')} />
        )}
        {mode !== 'archive' && (
          <>
            <Field label="Since" value={of('since')} onInput={set('since')} type="datetime-local" />
            <Field label="Until" value={of('until')} onInput={set('until')} type="datetime-local" />
            <Field label="As of" value={of('as_of')} onInput={set('as_of')} type="datetime-local" />
          </>
        )}
        <button type="submit" class="main">
          Show
        </button>
      </div>
    </Form>
  );
}

/** Reads page after page of what the query names. */
function useRows(query: Query): readonly [Rows, () => void, () => void] {
  const [state, setState] = useState<Rows>(NOTHING);
  const [turn, setTurn] = useState(0);
  const reading = useRef<AbortController | null>(null);
  const key = JSON.stringify([query, agent.value, apiKey.value, turn]);
  const read = useCallback((asked: Query, from: string | null, before: readonly MemoryRow[]) => {
    reading.current?.abort();
    const ending = new AbortController();
    reading.current = ending;
    setState((last) => ({ ...(from === null ? NOTHING : last), isLoading: true }));
    pageOf(asked, from, ending.signal).then(
      ({ rows, next, note }) => {
        if (ending.signal.aborted) return;
        reading.current = null;
        setState({ rows: [...before, ...rows], next, note, isLoading: false, error: null });
        if (from === null)
          announce(next === null ? `${rows.length} memories` : `The first ${rows.length} memories`);
      },
      (error: unknown) => {
        if (ending.signal.aborted) return;
        reading.current = null;
        setState((last) => ({ ...last, next: null, isLoading: false, error }));
      },
    );
  }, []);
  // The key stands for the query, and for who asks.
  useEffect(() => {
    read(query, null, []);
    return () => {
      reading.current?.abort();
      reading.current = null;
    };
  }, [key]);
  const more = useCallback(() => {
    if (state.next !== null && reading.current === null) read(query, state.next, state.rows);
  }, [state, query, read]);
  return [state, more, () => setTurn((before) => before + 1)];
}

interface Page {
  readonly rows: readonly MemoryRow[];
  readonly next: string | null;
  readonly note: string;
}

const filled = (value: string | undefined): string | undefined => (value === '' ? undefined : value);

function pageOf(query: Query, from: string | null, signal: AbortSignal): Promise<Page> {
  switch (query['mode']) {
    case 'search':
      return searched(query, from, signal);
    case 'recall':
      return recalled(query, signal);
    case 'archive':
      return archived(query, from, signal);
    default:
      return listed(query, from, signal);
  }
}

function common(query: Query) {
  return {
    namespace: filled(query['namespace']),
    tags: filled(query['tag']),
    kinds: filled(query['kind']),
    since: instantOf(query['since'] ?? '') ?? undefined,
    until: instantOf(query['until'] ?? '') ?? undefined,
    as_of: instantOf(query['as_of'] ?? '') ?? undefined,
  };
}

async function listed(query: Query, from: string | null, signal: AbortSignal): Promise<Page> {
  const input: Operations['memory_list']['input'] = {
    ...common(query),
    tier: filled(query['tier']) as Tier | undefined,
    agent_id: filled(query['agent']),
    limit: PAGE,
    cursor: from ?? undefined,
  };
  const answer = await call('memory_list', input, { signal });
  const below = answer.namespaces_below ?? [];
  const note =
    answer.namespace_meant !== undefined
      ? `Did you mean the namespace ${answer.namespace_meant}?`
      : below.length > 0
        ? `Namespaces below it hold memories: ${below.join(', ')}. Name it with /** to see them.`
        : '';
  const rows = answer.memories.map((memory) => memoryRow(memory));
  return { rows, next: answer.next_cursor ?? null, note };
}

async function searched(query: Query, from: string | null, signal: AbortSignal): Promise<Page> {
  const offset = from === null ? 0 : Number(from);
  const answer = await call(
    'memory_search',
    {
      ...common(query),
      query: query['q'] ?? '',
      tier: filled(query['tier']) as Tier | undefined,
      agent_id: filled(query['agent']),
      limit: PAGE,
      offset,
      content: 'passage',
    },
    { signal },
  );
  const rows = answer.results.map((memory) => memoryRow(memory));
  return { rows, next: answer.truncated === true ? String(offset + answer.count) : null, note: '' };
}

async function recalled(query: Query, signal: AbortSignal): Promise<Page> {
  const answer = await call(
    'memory_recall',
    {
      ...common(query),
      context: query['q'] ?? '',
      limit: RECALLED_MAX,
      content: 'passage',
      verbose_provenance: true,
    },
    { signal },
  );
  const rows = answer.memories.map((memory) => memoryRow(memory, whyText(memory['found_by'])));
  const note = answer.note === undefined ? '' : ` ${answer.note}.`;
  return { rows, next: null, note: `Mode: ${answer.mode}.${note}` };
}

async function archived(query: Query, from: string | null, signal: AbortSignal): Promise<Page> {
  const input = { namespace: filled(query['namespace']), limit: PAGE, cursor: from ?? undefined };
  const answer = await call('memory_archive_list', input, { signal });
  const rows = answer.archived.map((memory) =>
    memoryRow(memory as unknown as Parameters<typeof memoryRow>[0]),
  );
  return { rows, next: answer.next_cursor ?? null, note: '' };
}
