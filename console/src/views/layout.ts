import type { Drawing } from './drawing.js';

/** A graph for the thread that arranges it: nodes are numbers, and each link is a pair of them. */
export interface LayoutAsked {
  readonly count: number;
  readonly ends: Uint32Array;
}

/** Where the nodes of a drawing stand: x and y of each, one after the other. */
export async function positionsOf({ nodes, links }: Drawing, signal: AbortSignal): Promise<Float64Array> {
  const numbers = new Map(nodes.map(({ id }, index) => [id, index]));
  const ends = links.flatMap(({ source_id: from, target_id: to }) => [numbers.get(from)!, numbers.get(to)!]);
  const worker = new Worker(new URL('./layout-worker.ts', import.meta.url), { type: 'module' });
  try {
    return await new Promise((resolve, reject) => {
      worker.onmessage = ({ data }: MessageEvent<Float64Array>) => resolve(data);
      worker.onerror = ({ message }) => reject(new Error(`the graph cannot be arranged: ${message}`));
      signal.addEventListener('abort', () => reject(signal.reason));
      worker.postMessage({ count: nodes.length, ends: Uint32Array.from(ends) } satisfies LayoutAsked);
    });
  } finally {
    worker.terminate();
  }
}
