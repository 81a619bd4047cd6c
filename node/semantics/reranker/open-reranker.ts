import type { Clock, Log, Scheduler } from '../../../protocol/base/seams.js';
import type { Settings } from '../../config/settings.js';
import { NO_RERANKER } from './no-reranker.js';
import type { RemoteReranker, RemoteRerankerOptions } from './remote-reranker.js';
import type { Reranker } from './reranker.js';

export type RerankerSettings = Pick<
  Settings,
  'rerankerEnabled' | 'rerankerBaseUrl' | 'rerankerModel' | 'rerankerApiKey' | 'rerankerTimeoutMs'
>;

export interface RerankerParts {
  readonly settings: RerankerSettings;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly scheduler: Scheduler;
  readonly log: Log;
  readonly onRequest?: RemoteRerankerOptions['onRequest'];
}

/** The reranker of the settings. Contacts no service, and loads the HTTP client with the first recall. */
export function openReranker(parts: RerankerParts): Reranker {
  const { rerankerEnabled, rerankerBaseUrl: baseUrl, rerankerModel: model } = parts.settings;
  if (!rerankerEnabled || baseUrl === null) return NO_RERANKER;
  return new LaterReranker(parts, new URL(baseUrl), model);
}

/** The HTTP client is expensive to load, and few nodes need it. */
class LaterReranker implements Reranker {
  #remote: RemoteReranker | null = null;
  #loading: Promise<RemoteReranker> | null = null;
  #closed = false;

  constructor(
    private readonly parts: RerankerParts,
    private readonly baseUrl: URL,
    private readonly model: string,
  ) {}

  async relevances(...asked: Parameters<Reranker['relevances']>): ReturnType<Reranker['relevances']> {
    if (this.#closed) return 'failing';
    this.#loading ??= this.#load();
    return (this.#remote ?? (await this.#loading)).relevances(...asked);
  }

  state(): ReturnType<Reranker['state']> {
    const untried = { enabled: true, failing: false, lastError: null, model: this.model };
    return this.#remote?.state() ?? untried;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await (await this.#loading)?.close();
  }

  async #load(): Promise<RemoteReranker> {
    const { RemoteReranker: Remote } = await import('./remote-reranker.js');
    const { settings, clock, scheduler, log, onRequest = () => undefined } = this.parts;
    const { rerankerApiKey: key, rerankerTimeoutMs: timeoutMs } = settings;
    const { baseUrl, model } = this;
    this.#remote = new Remote({ baseUrl, model, key, timeoutMs, clock, scheduler, log, onRequest });
    return this.#remote;
  }
}
