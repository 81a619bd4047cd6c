import { writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { isatty } from 'node:tty';
import type { Logger } from 'pino';
import type { Log } from '../protocol/base/seams.js';
import { escapeUnprintable } from '../protocol/base/unprintable.js';
import { systemClock } from './seams.js';

const LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;

const require = createRequire(import.meta.url);

type Level = Exclude<(typeof LEVELS)[number], 'silent'>;

const STDERR = 2;

/**
 * The node's log, on standard error, because standard output belongs to answers and to MCP: plain lines for a person at a
 * terminal, JSON lines for all others.
 */
export function stderrLog(level: string): Log {
  const threshold = LEVELS.indexOf(level as (typeof LEVELS)[number]);
  const write = isatty(STDERR) ? plainLines() : jsonLines(level);
  const from = (at: Level) => (fields: object, message: string) => {
    if (LEVELS.indexOf(at) >= threshold) write(at, fields, message);
  };
  return { debug: from('debug'), info: from('info'), warn: from('warn'), error: from('error') };
}

type Write = (at: Level, fields: object, message: string) => void;

/** The library is loaded with the first line that is written; most one-shot commands write none. */
function jsonLines(level: string): Write {
  let logger: Logger | null = null;
  return (at, fields, message) => {
    if (logger === null) {
      const { pino } = require('pino') as typeof import('pino');
      // Synchronous, so that the last line of a dying process is not lost.
      logger = pino({ level }, pino.destination({ fd: STDERR, sync: true }));
    }
    logger[at](fields, message);
  };
}

/** What a line says is shown once while nothing else happens. */
function plainLines(): Write {
  let last = '';
  return (at, fields, message) => {
    const said = plainLine(at, fields, message);
    if (said === last) return;
    last = said;
    try {
      writeSync(STDERR, `${new Date(systemClock.nowMs()).toISOString().slice(11, 19)} ${said}\n`);
    } catch {
      // The terminal is gone; the node is not.
    }
  };
}

/** A line for a person: the level, what happened, and the facts that are not part of the sentence. */
export function plainLine(at: string, fields: object, message: string): string {
  const facts = Object.entries(fields).map(([name, value]) => `${name}: ${factOf(value)}`);
  const line = `${at}: ${message}${facts.length === 0 ? '' : ` (${facts.join(', ')})`}`;
  return escapeUnprintable(line.replace(/\s+/g, ' '));
}

function factOf(value: unknown): string {
  if (value instanceof Error) return value.message;
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value);
}
