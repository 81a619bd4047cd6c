import { Worker } from 'node:worker_threads';
import type { StorageThread } from '../../actors/storage/storage-thread.js';
import type { Result } from '../../protocol/base/result.js';
import type { Log } from '../../protocol/base/seams.js';
import type { FromThread, StorageThreadData, ToThread } from './messages.js';

/**
 * Short-lived objects of a thread before they are collected; Node's default of 48 MiB is a third of a node's memory.
 */
const YOUNG_GENERATION_MIB = 6;

/** Starts a storage thread and speaks with it. */
export function spawnStorageThread<C, R>(
  entry: 'writer-thread' | 'reader-thread',
  data: StorageThreadData,
  log: Log,
): StorageThread<C, R> {
  const worker = new Worker(new URL(`./${entry}.js`, import.meta.url), {
    workerData: data,
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MIB },
  });
  let onResults: (results: readonly Result<R>[]) => void = () => {};
  let onExit: () => void = () => {};
  let opened!: () => void;
  let failure: Error | null = null;
  const ready = new Promise<void>((resolve) => {
    opened = resolve;
  });
  const gone = new Promise<Error | null>((resolve) => {
    worker.on('error', (error) => {
      failure = error instanceof Error ? error : new Error(String(error));
    });
    worker.on('exit', (code) => {
      onExit();
      resolve(failure ?? (code === 0 ? null : new Error(`the ${entry} ended with code ${code}`)));
    });
  });
  worker.on('message', (message: FromThread<Result<R>>) => {
    if (message === 'ready') opened();
    else if ('bug' in message) log.error({ err: message.bug }, `the ${entry} met a bug`);
    else onResults(message.results);
  });
  const send = (message: ToThread<C>) => worker.postMessage(message);
  return {
    ready,
    gone,
    post: (batch) => send({ batch }),
    onResults: (callback) => {
      onResults = callback;
    },
    onExit: (callback) => {
      onExit = callback;
    },
    close: () => send('close'),
    kill: () => void worker.terminate(),
  };
}
