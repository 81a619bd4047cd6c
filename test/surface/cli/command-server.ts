import type { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { constants, Script } from 'node:vm';
import { MAIN } from '../../support/daemon-process.js';
import { type Asked, endMark } from './commands-in-turn.js';

/**
 * A process that runs the built program for one command after the other. The program's modules begin anew for each, so
 * only the compiled code and the packages outside of the script outlive a command.
 */
const url = pathToFileURL(MAIN).href;
const scriptAt = (name: string) => {
  const place = new URL(name, url);
  return new Script(readFileSync(place, 'latin1'), {
    filename: place.href,
    cachedData: readFileSync(new URL(name.replace(/\.c?js$/, '.code'), url)),
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
};
const program = scriptAt('./program.js');
const require = createRequire(url);

type Program = (require: NodeJS.Require, url: string, script: typeof library) => Promise<void>;
type Library = (require: NodeJS.Require) => unknown;
const libraries = new Map<string, unknown>();

/** A library of the program, which is made once. */
function library(name: string): Library {
  return (required) => {
    if (!libraries.has(name)) libraries.set(name, (scriptAt(name).runInThisContext() as Library)(required));
    return libraries.get(name);
  };
}

interface NativeDatabase {
  /** The database's JavaScript makes its class of errors known once, and is loaded anew for each command. */
  isInitialized: boolean;
}
const native = require('better-sqlite3/build/Release/better_sqlite3.node') as NativeDatabase;

/** Takes away what a command listens for: a process of its own would have ended. */
function forgetListeners(): void {
  own.forEach((emitter, index) => {
    for (const name of emitter.eventNames()) {
      const kept = listeners[index]?.get(name) ?? [];
      for (const listener of emitter.listeners(name)) {
        if (!kept.includes(listener)) emitter.removeListener(name, listener as () => void);
      }
    }
  });
}

function setEnvironment(wanted: Asked['env']): void {
  for (const name of Object.keys(process.env)) if (!(name in wanted)) delete process.env[name];
  Object.assign(process.env, wanted);
}

// A command may leave behind what keeps a process running.
const end = process.exit;
process.on('disconnect', () => end(0));

process.on('message', async ({ args, env, stdin }: Asked) => {
  setEnvironment(env);
  process.argv = [process.execPath, MAIN, ...args];
  Object.defineProperty(process, 'stdin', { value: Readable.from([Buffer.from(stdin)]), configurable: true });
  native.isInitialized = false;
  const code = await new Promise<number>((resolve) => {
    process.exit = (given) => {
      resolve(Number(given ?? 0));
      return undefined as never;
    };
    void (program.runInThisContext() as Program)(require, url, library);
  });
  forgetListeners();
  for (const stream of [process.stdout, process.stderr]) stream.write(endMark(code));
});

// What stays: the listener above, and those of Node.
const own: readonly EventEmitter[] = [process, process.stdout, process.stderr];
const listeners = own.map(
  (emitter) => new Map(emitter.eventNames().map((name) => [name, emitter.listeners(name)])),
);
