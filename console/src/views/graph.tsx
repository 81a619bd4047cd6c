import Graphology from 'graphology';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import Sigma, { DEFAULT_STYLES } from 'sigma';
import { timeText } from '../lib/format.js';
import { linkHolds, linkKey, momentsOf, type TimedLink } from '../lib/link-times.js';
import { addressOf } from '../lib/route.js';
import { go, place } from '../router.js';
import { theme } from '../session.js';
import { Empty, Loading, Problem } from '../ui/notices.js';
import { Field, Form, Table } from '../ui/parts.js';
import { useLoad } from '../ui/use-load.js';
import { type Drawing, drawingOfMemory, drawingOfNamespace } from './drawing.js';
import { positionsOf } from './layout.js';

const LISTED_MAX = 200;
const COLOURS = ['#3f7fd9', '#c9593f', '#2f9e6b', '#9a62c7', '#b98a1d', '#1f9aa8', '#cf5a93', '#7c8a3a'];

export function Graph() {
  const { subject, query } = place.value;
  const namespace = query['namespace'] ?? '';
  const [text, setText] = useState(namespace);
  const isAsked = subject !== null || namespace !== '';
  const { value, error, isLoading, reload } = useLoad(
    `graph ${subject ?? ''} ${namespace}`,
    async (signal) =>
      subject !== null
        ? drawingOfMemory(subject, signal)
        : isAsked
          ? drawingOfNamespace(namespace, signal)
          : null,
  );
  return (
    <>
      <h1>Graph</h1>
      <Form
        label="Choose what is drawn"
        role="search"
        class="row"
        onSubmit={() => go(addressOf('graph', null, { namespace: text.trim() }))}
      >
        <Field
          label="Namespace"
          value={text}
          onInput={setText}
          placeholder="team/** for all below"
          required
        />
        <button type="submit" class="main">
          Draw
        </button>
      </Form>
      <Problem error={error} retry={reload} />
      {!isAsked && <Empty>Name a namespace, or open a memory and choose its graph.</Empty>}
      {isAsked && isLoading && value === null && <Loading what="memories and links" />}
      {value !== null && <Drawn drawing={value} />}
    </>
  );
}

/** The graph with its two axes of time, and the same links as a table. */
function Drawn({ drawing }: { readonly drawing: Drawing }) {
  const moments = useMemo(() => momentsOf(drawing.links), [drawing]);
  const [valid, setValid] = useState(moments.length);
  const [believed, setBelieved] = useState(moments.length);
  const now = useMemo(() => new Date().toISOString(), [drawing]);
  const validAt = moments[valid] ?? now;
  const believedAt = moments[believed] ?? now;
  const shown = useMemo(
    () => drawing.links.filter((link) => linkHolds(link, validAt, believedAt)),
    [drawing, validAt, believedAt],
  );
  return (
    <>
      <div class="two">
        <Slider label="True at" moments={moments} value={valid} onInput={setValid} />
        <Slider label="Believed at" moments={moments} value={believed} onInput={setBelieved} />
      </div>
      <p role="status">
        {drawing.nodes.length} memories, {shown.length} of {drawing.links.length} links
        {drawing.isCut ? '; more are left out' : ''}
      </p>
      <Canvas drawing={drawing} shown={shown} />
      {shown.length > 0 && <LinkTable drawing={drawing} shown={shown} />}
    </>
  );
}

function Slider({
  label,
  moments,
  value,
  onInput,
}: {
  readonly label: string;
  readonly moments: readonly string[];
  readonly value: number;
  readonly onInput: (value: number) => void;
}) {
  const said = moments[value] === undefined ? 'now' : timeText(moments[value]);
  return (
    <label>
      {label}: {said}
      <input
        type="range"
        min={0}
        max={moments.length}
        value={value}
        aria-valuetext={said}
        onInput={(event) => onInput(Number(event.currentTarget.value))}
      />
    </label>
  );
}

/** The graph of a drawing, with each node where the layout has put it. */
function placed({ nodes, links, centre }: Drawing, positions: Float64Array): Graphology {
  const graph = new Graphology({ multi: true, type: 'directed' });
  const colours = new Map<string, string>();
  for (const [index, { id, title, namespace }] of nodes.entries()) {
    const color = colours.get(namespace) ?? COLOURS[colours.size % COLOURS.length]!;
    colours.set(namespace, color);
    const [x, y] = [positions[2 * index], positions[2 * index + 1]];
    graph.addNode(id, { label: title, color, size: id === centre ? 12 : nodes.length > 1000 ? 4 : 7, x, y });
  }
  for (const link of links)
    graph.addEdgeWithKey(linkKey(link), link.source_id, link.target_id, { size: 1.5, color: '#8a93a3' });
  return graph;
}

/** Links that are painted anew in one frame. */
const LINKS_A_FRAME = 500;

/** Paints links anew that came or went, a part of them in each frame, so that a slider can move meanwhile. */
function repaints(sigma: Sigma): (edges: Iterable<string>) => void {
  const waiting = new Set<string>();
  let frame = 0;
  const paint = (): void => {
    frame = 0;
    const edges = [...waiting].slice(0, LINKS_A_FRAME);
    for (const edge of edges) waiting.delete(edge);
    sigma.refresh({ partialGraph: { edges }, skipIndexation: true, schedule: true });
    if (waiting.size > 0) frame = requestAnimationFrame(paint);
  };
  sigma.on('kill', () => cancelAnimationFrame(frame));
  return (edges) => {
    for (const edge of edges) waiting.add(edge);
    if (waiting.size > 0 && frame === 0) frame = requestAnimationFrame(paint);
  };
}

/** The drawing itself; a click on a memory opens it. The table below says the same. */
function Canvas({ drawing, shown }: { readonly drawing: Drawing; readonly shown: readonly TimedLink[] }) {
  const box = useRef<HTMLDivElement>(null);
  const drawn = useRef<Sigma | null>(null);
  const visible = useRef<ReadonlySet<string>>(new Set());
  const repaint = useRef<(edges: Iterable<string>) => void>(() => undefined);
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(true);
  const holds = useMemo(() => new Set(shown.map(linkKey)), [shown]);
  const colours = theme.value;
  useEffect(() => {
    const ending = new AbortController();
    const draw = async () => {
      setBusy(true);
      const positions = await positionsOf(drawing, ending.signal);
      if (ending.signal.aborted) return;
      const labelColor = getComputedStyle(document.body).color;
      const sigma = new Sigma(placed(drawing, positions), box.current!, {
        settings: { itemSizesReference: 'screen' },
        styles: { nodes: [DEFAULT_STYLES.nodes, { labelColor }], edges: [DEFAULT_STYLES.edges] },
        edgeReducer: (edge) => ({ visibility: visible.current.has(edge) ? 'visible' : 'hidden' }),
      });
      sigma.on('clickNode', ({ node }) => go(addressOf('memories', node)));
      drawn.current = sigma;
      repaint.current = repaints(sigma);
      setBusy(false);
    };
    draw().catch((problem: unknown) => {
      if (ending.signal.aborted) return;
      setError(problem);
      setBusy(false);
    });
    return () => {
      ending.abort();
      drawn.current?.kill();
      drawn.current = null;
    };
  }, [drawing, colours]);
  useEffect(() => {
    const before = visible.current;
    visible.current = holds;
    repaint.current([...before, ...holds].filter((link) => before.has(link) !== holds.has(link)));
  }, [holds]);
  return (
    <>
      {error !== null && (
        <p class="notice">
          This browser cannot draw the graph (it needs WebGL 2); the table below has the same links.
        </p>
      )}
      <p class="quiet" role="status">
        {isBusy ? 'Arranging the memories …' : 'Colours are namespaces; a click on a memory opens it.'}
      </p>
      <div
        class="graph"
        ref={box}
        role="img"
        aria-busy={isBusy}
        aria-label="Memories and links; the table below has the same"
      />
    </>
  );
}

function LinkTable({ drawing, shown }: { readonly drawing: Drawing; readonly shown: readonly TimedLink[] }) {
  const titles = useMemo(() => new Map(drawing.nodes.map(({ id, title }) => [id, title])), [drawing]);
  const [isOpen, setOpen] = useState(false);
  const memory = (id: string) => <a href={addressOf('memories', id)}>{titles.get(id) ?? id.slice(0, 8)}</a>;
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>The links as a table{shown.length > LISTED_MAX ? ` (the first ${LISTED_MAX})` : ''}</summary>
      <Table<TimedLink>
        label="Links"
        rows={isOpen ? shown.slice(0, LISTED_MAX) : []}
        keyOf={linkKey}
        columns={[
          { name: 'From', of: ({ source_id: id }) => memory(id) },
          { name: 'Relation', of: ({ relation }) => relation },
          { name: 'To', of: ({ target_id: id }) => memory(id) },
          { name: 'Valid from', of: ({ valid_from: at }) => timeText(at) },
          { name: 'Valid until', of: ({ valid_until: at }) => timeText(at) },
        ]}
      />
    </details>
  );
}
