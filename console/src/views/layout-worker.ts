import Graphology from 'graphology';
import circular from 'graphology-layout/circular';
import forceAtlas2 from 'graphology-layout-forceatlas2';
import type { LayoutAsked } from './layout.js';

/** Arranges a graph in a thread of its own, so that the page answers meanwhile. */
const port = self as unknown as {
  onmessage: ((event: MessageEvent<LayoutAsked>) => void) | null;
  postMessage(positions: Float64Array): void;
};

/** A round takes longer with more memories, so they get fewer. */
const roundsFor = (count: number): number => (count > 2000 ? 60 : count > 500 ? 120 : 200);

port.onmessage = ({ data: { count, ends } }) => {
  const graph = new Graphology({ multi: true, type: 'directed' });
  for (let node = 0; node < count; node += 1) graph.addNode(node, { x: 0, y: 0 });
  for (let at = 0; at < ends.length; at += 2) graph.addEdge(ends[at], ends[at + 1]);
  circular.assign(graph, { scale: 100 });
  if (count > 2) {
    const settings = { ...forceAtlas2.inferSettings(graph), barnesHutOptimize: count > 300 };
    forceAtlas2.assign(graph, { iterations: roundsFor(count), settings });
  }
  const positions = new Float64Array(2 * count);
  graph.forEachNode((node, { x, y }) => positions.set([x as number, y as number], 2 * Number(node)));
  port.postMessage(positions);
};
