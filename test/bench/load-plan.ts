/** What the load generator is told, and what it answers; plain data between processes. */

/** A group of clients that do the same work. */
export interface LoadStream {
  /** Keep-alive connections, each with one request at a time and no think time. */
  readonly clients: number;
  /** Requests a second of all its clients together; null for as fast as the answers come. */
  readonly ratePerSecond: number | null;
  /** Paths to GET, taken in turn; figures are kept apart by label. */
  readonly reads: readonly { readonly label: string; readonly path: string }[];
  /** Appends a word of its own to each path, so that no two queries are equal. */
  readonly suffix: boolean;
  /** Every how many requests one is a store: 0 none, 1 all. */
  readonly storeEvery: number;
  /** Namespaces of the stores, taken in turn. */
  readonly namespaces: readonly string[];
  /** Label of the stores. */
  readonly storeLabel: string;
  /** Begins the titles of the stores: `cap-<8 hex>`. */
  readonly titlePrefix: string;
  /** Whose key signs the stores; null for unsigned ones. */
  readonly signAs: string | null;
  /** Stores that are signed before the run begins, so that it measures the server's work; later ones as they come. */
  readonly signedAhead: number;
  /** A text that is counted in the bodies of answers. */
  readonly mark: string | null;
}

export interface LoadPlan {
  readonly host: string;
  readonly port: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Requests that begin in this time are made and not counted. */
  readonly warmupMs: number;
  readonly durationMs: number;
  /** Requests of all clients together, after which the run ends before its time; null for no such end. */
  readonly requestsMax: number | null;
  readonly streams: readonly LoadStream[];
}

/** What happened to the requests of one label. Latencies in milliseconds, by nearest rank, of successes alone. */
export interface LoadFigures {
  readonly label: string;
  readonly ok: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
  /** Refused with 503: counted apart, never as throughput. */
  readonly shed: number;
  /** Any other answer, by status; 0 for a broken connection. */
  readonly failed: Readonly<Record<string, number>>;
  /** Successes whose body held the mark. */
  readonly marked: number;
  /** Mean size of a success. */
  readonly bodyBytes: number;
}

export interface LoadResult {
  readonly figures: readonly LoadFigures[];
  /** Processor time of the load generator, as a share of one core. */
  readonly generatorCpu: number;
}

/** From the load generator's process. */
export type LoadAnswer = { readonly result: LoadResult } | { readonly error: string };
