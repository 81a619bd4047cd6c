import { INVALID_PARAMS, RpcError } from './rpc-error.js';

/** The levels of the protocol, least severe first. */
const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;
export type LogLevel = (typeof LEVELS)[number];

/** What a session is told about itself. */
export interface LogLine {
  readonly level: LogLevel;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Decides which lines a client gets: none until it names a level. The lines are about its own calls only. */
export class SessionLog {
  private from: number | null = null;

  setLevel(level: unknown): void {
    const from = LEVELS.indexOf(level as LogLevel);
    if (from === -1) throw new RpcError(INVALID_PARAMS, `level: must be one of ${LEVELS.join(', ')}`);
    this.from = from;
  }

  shows({ level }: LogLine): boolean {
    return this.from !== null && LEVELS.indexOf(level) >= this.from;
  }
}
