import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HookEvent } from '../../protocol/hooks/events.js';
import { temporaryFolder } from './daemon-process.js';

/** An entry of hooks.toml; what is not given is usual. */
export interface HookEntry {
  readonly event: HookEvent;
  readonly command: string;
  readonly priority?: number;
  readonly timeout_ms?: number;
  readonly mode?: 'exec' | 'daemon';
  readonly enabled?: boolean;
  readonly namespace?: string;
  readonly fail_mode?: 'open' | 'closed';
}

/** A home with programs and a file of hooks. */
export class HookHome {
  readonly home = temporaryFolder('hooks');
  readonly #folder = join(this.home, 'hooks');
  #scripts = 0;

  constructor() {
    mkdirSync(this.#folder, { mode: 0o700 });
  }

  /** A shell script with these lines; answers its path. */
  sh(...lines: readonly string[]): string {
    return this.#script('#!/bin/sh', lines);
  }

  /** A script of Node with these lines. */
  node(...lines: readonly string[]): string {
    return this.#script(`#!${process.execPath}`, lines);
  }

  /** A hook that notes each event in a file and says what it is told to. */
  noting(said = ''): { readonly command: string; readonly events: () => readonly NotedEvent[] } {
    this.#scripts += 1;
    const path = join(this.#folder, `noted-${this.#scripts}`);
    writeFileSync(path, '');
    const command = this.sh('event=$(cat)', `printf '%s\\n' "$event" >> '${path}'`, `printf '%s' '${said}'`);
    const events = () =>
      readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as NotedEvent);
    return { command, events };
  }

  /** Writes hooks.toml. */
  register(...entries: readonly HookEntry[]): void {
    const text = entries.map((entry) => {
      const usual = { priority: 0, timeout_ms: 5000, enabled: true, namespace: '*', mode: 'exec' };
      const fields = Object.entries({ ...usual, ...entry });
      return ['[[hook]]', ...fields.map(([key, value]) => `${key} = ${JSON.stringify(value)}`)].join('\n');
    });
    this.write(`${text.join('\n')}\n`);
  }

  write(toml: string): void {
    writeFileSync(join(this.home, 'hooks.toml'), toml, { mode: 0o600 });
  }

  #script(first: string, lines: readonly string[]): string {
    this.#scripts += 1;
    const path = join(this.#folder, `hook-${this.#scripts}`);
    writeFileSync(path, `${[first, ...lines].join('\n')}\n`);
    chmodSync(path, 0o700);
    return path;
  }
}

export interface NotedEvent {
  readonly event: HookEvent;
  readonly payload: Readonly<Record<string, unknown>>;
}
