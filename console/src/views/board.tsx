import { useEffect, useState } from 'preact/hooks';
import { call, inboxEvents, type Operations } from '../api.js';
import { agoText, valueText } from '../lib/format.js';
import { addressOf } from '../lib/route.js';
import { go, place } from '../router.js';
import { agent, apiKey } from '../session.js';
import { announce, Empty, Loading, Problem } from '../ui/notices.js';
import { Facts, Field, Form, Json, Table } from '../ui/parts.js';
import { useLoad, useTask } from '../ui/use-load.js';

type BoardAnswer = Operations['coordination_board']['answer'];
type Action = BoardAnswer['actions'][number];
type Message = Operations['memory_inbox']['answer']['messages'][number];

const ofSeconds = (seconds: number | null | undefined): string | null =>
  seconds === null || seconds === undefined ? null : new Date(seconds * 1000).toISOString();
const ago = (seconds: number | null): string => agoText(ofSeconds(seconds), Date.now());

export function Board() {
  const namespace = place.value.query['namespace'] ?? '';
  const [text, setText] = useState(namespace);
  const { value, error, isLoading, reload } = useLoad(`board ${namespace}`, (signal) =>
    call('coordination_board', namespace === '' ? {} : { namespace }, { signal }),
  );
  return (
    <>
      <div class="bar">
        <h1>Board</h1>
        <Form
          label="Choose a namespace"
          role="search"
          class="row"
          onSubmit={() => go(addressOf('board', null, { namespace: text.trim() }))}
        >
          <Field label="Namespace" value={text} onInput={setText} placeholder="all" />
          <button type="submit">Show</button>
          <button type="button" onClick={reload}>
            Read again
          </button>
        </Form>
      </div>
      <Problem error={error} retry={reload} />
      {isLoading && value === null && <Loading what="the board" />}
      {value !== null && <Actions actions={value.actions} />}
      {value !== null && <SignalsAndCheckpoints board={value} />}
    </>
  );
}

/** The actions by their states. */
function Actions({ actions }: { readonly actions: readonly Action[] }) {
  const states = [...new Set(actions.map(({ state }) => state))];
  const titles = new Map(actions.map(({ id, title }) => [id, title]));
  return (
    <section aria-labelledby="actions">
      <h2 id="actions">Actions</h2>
      {actions.length === 0 && <Empty>There is none.</Empty>}
      <div class="cards">
        {states.map((state) => (
          <div class="card" key={state}>
            <h3>{state.replaceAll('_', ' ')}</h3>
            {actions
              .filter((action) => action.state === state)
              .map((action) => (
                <OneAction key={action.id} action={action} titles={titles} />
              ))}
          </div>
        ))}
      </div>
    </section>
  );
}

/** Titles of actions by their ids. */
type Titles = ReadonlyMap<string, string>;

function OneAction({ action, titles }: { readonly action: Action; readonly titles: Titles }) {
  const { id, title, namespace, kind, priority, lease, blocked_by: blockers, created_by: by } = action;
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <b>{title}</b>{' '}
        <span class="quiet">
          {namespace}, {kind}, priority {priority}
          {lease === null ? '' : `, held by ${lease.holder}`}
          {blockers.length === 0 ? '' : `, waits for ${blockers.length}`}
        </span>
      </summary>
      <Facts
        of={[
          ['Made by', by],
          [
            'Held by',
            lease === null
              ? 'nobody'
              : `${lease.holder}, ${agoText(ofSeconds(lease.expires_at), Date.now())}`,
          ],
          ['Changed', ago(action.updated_at)],
          [
            'Waits for',
            blockers
              .map(
                ({ id: other, state, edge_type: edge }) => `${edge} ${titles.get(other) ?? other} (${state})`,
              )
              .join('; '),
          ],
          ['Id', <code key="id">{id}</code>],
        ]}
      />
      {isOpen && <Edges id={id} titles={titles} />}
    </details>
  );
}

function Edges({ id, titles }: { readonly id: string; readonly titles: Titles }) {
  const { value, error } = useLoad(`edges ${id}`, (signal) =>
    call('memory_action_edges', { id }, { signal }),
  );
  return (
    <>
      <Problem error={error} />
      <ul>
        {value?.edges.map((edge) => (
          <li key={`${edge.from_action} ${edge.edge_type} ${edge.to_action}`}>
            <b>{titles.get(edge.from_action) ?? edge.from_action}</b> {edge.edge_type.replaceAll('_', ' ')}{' '}
            <b>{titles.get(edge.to_action) ?? edge.to_action}</b>
          </li>
        ))}
      </ul>
    </>
  );
}

function SignalsAndCheckpoints({ board }: { readonly board: BoardAnswer }) {
  return (
    <>
      <section class="card" aria-labelledby="signals">
        <h2 id="signals">Signals</h2>
        {board.signals.length === 0 ? (
          <Empty>There is none.</Empty>
        ) : (
          <Table<BoardAnswer['signals'][number]>
            label="Signals"
            rows={board.signals}
            keyOf={({ id }) => id}
            columns={[
              { name: 'Subject', of: ({ subject }) => subject },
              { name: 'From', of: ({ from_agent: from }) => from },
              { name: 'To', of: ({ to_agent: to }) => to ?? 'all' },
              { name: 'Namespace', of: ({ namespace }) => namespace },
              { name: 'When', of: ({ created_at: at }) => ago(at) },
            ]}
          />
        )}
      </section>
      <section class="card" aria-labelledby="checkpoints">
        <h2 id="checkpoints">Open checkpoints</h2>
        {board.checkpoints.length === 0 ? (
          <Empty>There is none.</Empty>
        ) : (
          <Table<BoardAnswer['checkpoints'][number]>
            label="Checkpoints"
            rows={board.checkpoints}
            keyOf={({ id }) => id}
            columns={[
              { name: 'Title', of: ({ title }) => title },
              { name: 'Namespace', of: ({ namespace }) => namespace },
              { name: 'Condition', of: ({ condition_type: type }) => type },
              { name: 'Made by', of: ({ created_by: by }) => by },
              { name: 'Until', of: ({ deadline_at: at }) => ago(at) },
              {
                name: 'Details',
                of: ({ condition }) => (
                  <details>
                    <summary>Show</summary>
                    <Json value={condition} />
                  </details>
                ),
              },
            ]}
          />
        )}
      </section>
    </>
  );
}

/** The messages of an agent, as they come. */
export function Messages() {
  const [unreadOnly, setUnreadOnly] = useState('all');
  const { value, error, isLoading, reload } = useLoad(`inbox ${unreadOnly}`, (signal) =>
    call('memory_inbox', { unread_only: unreadOnly === 'unread', limit: 200 }, { signal }),
  );
  const read = useTask(async (ids: readonly string[]) => {
    await call('memory_inbox_read', { ids });
    reload();
  });
  const who = `${agent.value}\n${apiKey.value}`;
  useEffect(() => {
    const ending = new AbortController();
    const follow = async () => {
      for await (const { event, data } of inboxEvents({ signal: ending.signal })) {
        if (event === 'message') announce(`A message: ${data.title}`);
        reload();
      }
    };
    // Without an agent there is no inbox, and the list above says so.
    if (!who.startsWith('\n')) follow().catch(() => undefined);
    return () => ending.abort();
  }, [who, reload]);
  return (
    <>
      <div class="bar">
        <h1>Messages</h1>
        <Field label="Show" value={unreadOnly} onInput={setUnreadOnly} options={['all', 'unread']} />
      </div>
      <Send />
      <section class="card" aria-labelledby="inbox">
        <h2 id="inbox">Inbox of {value?.agent_id ?? valueText(agent.value)}</h2>
        <Problem error={error ?? read.error} retry={reload} />
        {isLoading && value === null && <Loading what="the inbox" />}
        {value?.count === 0 && <Empty>It is empty.</Empty>}
        {value?.messages.map((message) => (
          <OneMessage key={message.id} message={message} onRead={() => read.run([message.id])} />
        ))}
      </section>
    </>
  );
}

const OneMessage = ({ message, onRead }: { readonly message: Message; readonly onRead: () => void }) => (
  <article class="card">
    <h3>{message.title}</h3>
    <p class="quiet">
      from {valueText(message.from)}, {agoText(message.created_at, Date.now())}, priority {message.priority}
    </p>
    <p class="text">{message.payload}</p>
    {!message.read && (
      <button type="button" onClick={onRead}>
        Mark as read
      </button>
    )}
  </article>
);

function Send() {
  const [to, setTo] = useState('');
  const [title, setTitle] = useState('');
  const [payload, setPayload] = useState('');
  const send = useTask(async () => {
    await call('memory_notify', { target_agent_id: to, title, payload });
    announce('Sent');
    setTitle('');
    setPayload('');
  });
  return (
    <details class="card">
      <summary>Send a message</summary>
      <Form label="Send a message" onSubmit={() => send.run()}>
        <div class="filters">
          <Field label="To" value={to} onInput={setTo} required />
          <Field label="Subject" value={title} onInput={setTitle} required />
        </div>
        <Field label="Text" value={payload} onInput={setPayload} rows={4} required />
        <Problem error={send.error} />
        <button type="submit" class="main" disabled={send.isRunning}>
          Send
        </button>
      </Form>
    </details>
  );
}
