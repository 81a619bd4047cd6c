import { createRequire } from 'node:module';
import type { Logger } from 'pino';
import type { Log } from '../protocol/base/seams.js';

const LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;

const require = createRequire(import.meta.url);

/**
 * The node's log: JSON lines on standard error, because standard output belongs to answers and to MCP. The library is
 * loaded with the first line that is written; most one-shot commands write none.
 */
export function stderrLog(level: string): Log {
  const threshold = LEVELS.indexOf(level as (typeof LEVELS)[number]);
  let logger: Logger | null = null;
  const write = (at: 'debug' | 'info' | 'warn' | 'error') => (fields: object, message: string) => {
    if (LEVELS.indexOf(at) < threshold) return;
    if (logger === null) {
      const { pino } = require('pino') as typeof import('pino');
      // Synchronous, so that the last line of a dying process is not lost.
      logger = pino({ level }, pino.destination({ fd: 2, sync: true }));
    }
    logger[at](fields, message);
  };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}
