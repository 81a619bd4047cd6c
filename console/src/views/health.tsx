import { useEffect, useState } from 'preact/hooks';
import { call, health, type Operations, read } from '../api.js';
import { bytesText, valueText } from '../lib/format.js';
import { gaugesOf, linePoints } from '../lib/metrics.js';
import { agent, apiKey } from '../session.js';
import { announce, Empty, Problem } from '../ui/notices.js';
import { Facts, Table, Time } from '../ui/parts.js';
import { useLoad, useTask } from '../ui/use-load.js';
import { Findings } from './findings.js';
import { Jobs } from './jobs.js';

type Subscription = Operations['memory_list_subscriptions']['answer']['subscriptions'][number];
type Letter = Operations['memory_subscription_dlq_list']['answer']['entries'][number];

export function Health() {
  return (
    <>
      <h1>Health</h1>
      <Summary />
      <Findings />
      <Gauges />
      <Models />
      <Jobs />
      <Webhooks />
    </>
  );
}

function Summary() {
  const { value } = useLoad('health now', () => health());
  const stats = useLoad('stats', (signal) => call('memory_stats', {}, { signal }));
  const {
    total,
    links_count: links,
    db_size_bytes: bytes,
  } = (stats.value ?? {}) as Partial<Operations['memory_stats']['answer']>;
  return (
    <section class="card" aria-labelledby="summary">
      <h2 id="summary">The node</h2>
      <Facts
        of={[
          ['State', value === null ? '…' : value.status === 'ok' ? 'works' : 'the store does not answer'],
          ['Version', value?.version],
          ['Finds by meaning', value?.embedder_ready === true ? 'yes' : 'no: words only'],
          ['Memories', total === undefined ? '–' : String(total)],
          ['Links', links === undefined ? '–' : String(links)],
          ['Database', bytes === undefined ? '–' : bytesText(Number(bytes))],
        ]}
      />
      <Problem error={stats.error} />
    </section>
  );
}

const EVERY_MS = 3000;
const POINTS_MAX = 100;
const [WIDTH, HEIGHT] = [160, 36];

/** The gauges of the node since the view opened. */
function Gauges() {
  const [series, setSeries] = useState<ReadonlyMap<string, readonly number[]>>(new Map());
  const [error, setError] = useState<unknown>(null);
  const who = `${agent.value}\n${apiKey.value}`;
  useEffect(() => {
    const ending = new AbortController();
    const look = () =>
      read('/metrics', ending.signal).then(
        (text) => {
          setError(null);
          setSeries((before) => {
            const points = [...gaugesOf(text)].map(
              ([name, value]) => [name, [...(before.get(name) ?? []), value].slice(-POINTS_MAX)] as const,
            );
            return new Map(points);
          });
        },
        (problem: unknown) => {
          if (!ending.signal.aborted) setError(problem);
        },
      );
    if (who !== '') void look();
    const timer = setInterval(() => void look(), EVERY_MS);
    return () => {
      clearInterval(timer);
      ending.abort();
    };
  }, [who]);
  return (
    <section class="card" aria-labelledby="gauges">
      <h2 id="gauges">Gauges since this view opened</h2>
      <Problem error={error} />
      <div class="cards">
        {[...series].map(([name, values]) => (
          <figure key={name}>
            <figcaption>
              <code>{name}</code> {valueText(values.at(-1))}
            </figcaption>
            <svg viewBox={`0 -2 ${WIDTH} ${HEIGHT + 4}`} width={WIDTH} height={HEIGHT + 4} aria-hidden="true">
              <polyline points={linePoints(values, WIDTH, HEIGHT)} fill="none" stroke="currentColor" />
            </svg>
          </figure>
        ))}
      </div>
    </section>
  );
}

function Models() {
  const { value, error } = useLoad('capabilities', (signal) => call('memory_capabilities', {}, { signal }));
  const { models } = (value ?? {}) as { readonly models?: Readonly<Record<string, unknown>> };
  return (
    <section class="card" aria-labelledby="models">
      <h2 id="models">Models</h2>
      <Problem error={error} />
      <Facts
        of={Object.entries(models ?? {}).map(
          ([name, model]) => [name.replaceAll('_', ' '), valueText(model)] as const,
        )}
      />
    </section>
  );
}

function Webhooks() {
  const list = useLoad('subscriptions', (signal) => call('memory_list_subscriptions', {}, { signal }));
  const letters = useLoad('letters', (signal) =>
    call('memory_subscription_dlq_list', { limit: 100 }, { signal }),
  );
  const again = useTask(async (id: string, since: string) => {
    const { resent } = await call('memory_subscription_replay', { subscription_id: id, since, resend: true });
    announce(`${resent} events are sent again`);
    list.reload();
    letters.reload();
  });
  const { value } = list;
  const receivers = new Map(value?.subscriptions.map(({ id, url }) => [id, url]));
  return (
    <section class="card" aria-labelledby="webhooks">
      <h2 id="webhooks">Webhooks</h2>
      <Problem error={list.error ?? letters.error ?? again.error} />
      {value?.count === 0 && <Empty>Nobody listens.</Empty>}
      {value !== null && value.count > 0 && (
        <Table<Subscription>
          label="Webhooks"
          rows={value.subscriptions}
          keyOf={({ id }) => id}
          columns={[
            { name: 'Receiver', of: ({ url }) => url },
            { name: 'Events', of: ({ events }) => events },
            { name: 'Of', of: ({ agent_id: who }) => who },
            { name: 'State', of: ({ status }) => status },
            { name: 'Waiting', of: ({ pending_count: count }) => count },
            { name: 'Failed', of: ({ failure_count: count }) => count },
            { name: 'Dead letters', of: ({ dlq_count: count }) => count },
            {
              name: 'Again',
              of: ({ id, created_at: at }) => (
                <button type="button" disabled={again.isRunning} onClick={() => again.run(id, at)}>
                  Send what failed again
                </button>
              ),
            },
          ]}
        />
      )}
      {letters.value !== null && letters.value.count > 0 && (
        <>
          <h3>Dead letters</h3>
          <Table<Letter>
            label="Dead letters"
            rows={letters.value.entries}
            keyOf={({ id }) => String(id)}
            columns={[
              { name: 'Event', of: ({ event_type: event }) => event },
              { name: 'Receiver', of: ({ subscription_id: id }) => receivers.get(id) ?? id },
              { name: 'Attempts', of: ({ retry_count: count }) => count },
              { name: 'Why', of: ({ last_error: why }) => why },
              { name: 'When', of: ({ last_failed_at: at }) => <Time at={at} /> },
            ]}
          />
        </>
      )}
    </section>
  );
}
