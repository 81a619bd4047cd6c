import pg from 'pg';
import { Bridge } from '../../storage/postgres/bridge.js';
import type { Run } from '../../storage/postgres/messages.js';
import { storeBatches } from './limits.js';
import type { BenchPlace } from './place.js';

/** Groups before the measured ones. */
const WARM_UP = 5;
const ROWS = 2_000;
const GROUPS_MIN = 20;
const GROUPS_MAX = 200;

interface Sent {
  readonly text: string;
  readonly values: readonly unknown[];
}

/**
 * Rows per second of the driver in a bare loop, without a decision and without the service's threads: it sends the statements that
 * the service's writer sent for groups of so many rows, with their values and in the same trips, after the rows were removed.
 */
export async function bareDriverRate(place: BenchPlace, groupRows: number): Promise<number> {
  const groups = Math.min(GROUPS_MAX, Math.max(GROUPS_MIN, Math.ceil(ROWS / groupRows)));
  const trips = record(place, groupRows, groups);
  const client = new pg.Client({ connectionString: place.url!, pipeline: true });
  await client.connect();
  try {
    await client.query('TRUNCATE memories, operations, agent_quotas, namespace_digests CASCADE');
    const names = new Map<string, string>();
    const send = ({ text, values }: Sent) => {
      const name = names.get(text) ?? `q${names.size}`;
      names.set(text, name);
      return client.query({ name, text, values: values.map(bound), rowMode: 'array' });
    };
    let start = performance.now();
    for (const [index, group] of trips.entries()) {
      if (index === WARM_UP) start = performance.now();
      for (const trip of group) await Promise.all(trip.map(send));
    }
    return ((trips.length - WARM_UP) * groupRows * 1000) / (performance.now() - start);
  } finally {
    await client.end();
    await place.end();
  }
}

const bound = (value: unknown): unknown => (value instanceof Uint8Array ? Buffer.from(value) : value);

/** The trips of each group, as the service's writer makes them. */
function record(place: BenchPlace, groupRows: number, groups: number): Sent[][][] {
  const texts = new Map<number, string>();
  let trips: Sent[][] = [];
  const { ask } = Bridge.prototype;
  Bridge.prototype.ask = function recorded(request) {
    if ('runs' in request) trips.push(request.runs.map((run) => statementOf(run, texts)));
    return ask.call(this, request);
  };
  const database = place.writing();
  try {
    const batch = storeBatches(groupRows);
    return Array.from({ length: groups + WARM_UP }, () => {
      trips = [];
      database.write(batch());
      return trips;
    });
  } finally {
    database.close();
    Bridge.prototype.ask = ask;
  }
}

function statementOf({ statement, text, values }: Run, texts: Map<number, string>): Sent {
  if (text !== undefined) texts.set(statement, text);
  return { text: texts.get(statement)!, values };
}
