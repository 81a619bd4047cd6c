import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { agent, apiKey } from '../session.js';

/** What a view reads, while it reads and afterwards. */
export interface Load<T> {
  readonly value: T | null;
  readonly error: unknown;
  readonly isLoading: boolean;
  /** Reads it again; what is shown stays until the answer comes. */
  readonly reload: () => void;
}

/** What was read, and what was asked for. */
interface Read<T> extends Omit<Load<T>, 'reload'> {
  readonly asked: string;
}

const nothing = (asked: string) => ({ asked, value: null, error: null, isLoading: true });

/**
 * Reads something when the view opens, when `key` changes, and when the agent or the key of the node does. What one
 * agent was shown is gone at once when another one looks.
 */
export function useLoad<T>(key: string, run: (signal: AbortSignal) => Promise<T>): Load<T> {
  const [turn, setTurn] = useState(0);
  const latest = useRef(run);
  latest.current = run;
  const asked = `${key}\n${agent.value}\n${apiKey.value}`;
  const [state, setState] = useState<Read<T>>(nothing(asked));
  useEffect(() => {
    const ending = new AbortController();
    setState((before) => (before.asked === asked ? { ...before, isLoading: true } : nothing(asked)));
    latest.current(ending.signal).then(
      (value) => {
        if (!ending.signal.aborted) setState({ asked, value, error: null, isLoading: false });
      },
      (error: unknown) => {
        if (!ending.signal.aborted) setState({ asked, value: null, error, isLoading: false });
      },
    );
    return () => ending.abort();
  }, [asked, turn]);
  const reload = useCallback(() => setTurn((before) => before + 1), []);
  const { value, error, isLoading } = state.asked === asked ? state : nothing(asked);
  return { value, error, isLoading, reload };
}

/** What a button does: one run at a time, with the error of the last one. */
export interface Task<A extends readonly unknown[]> {
  readonly run: (...given: A) => void;
  readonly isRunning: boolean;
  readonly error: unknown;
}

export function useTask<A extends readonly unknown[]>(work: (...given: A) => Promise<unknown>): Task<A> {
  const [state, setState] = useState<{ isRunning: boolean; error: unknown }>({
    isRunning: false,
    error: null,
  });
  const busy = useRef(false);
  const run = (...given: A): void => {
    if (busy.current) return;
    busy.current = true;
    setState({ isRunning: true, error: null });
    work(...given)
      .then(
        () => setState({ isRunning: false, error: null }),
        (error: unknown) => setState({ isRunning: false, error }),
      )
      .finally(() => {
        busy.current = false;
      });
  };
  return { run, ...state };
}
