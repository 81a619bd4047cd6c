import type { EventEmitter } from 'node:events';
import { Readable } from 'node:stream';
import { runProgram } from '../../../cli/run-program.js';
import { Terminal } from '../../../cli/terminal.js';
import { MAIN } from '../../support/daemon-process.js';
import { type Asked, endMark } from './commands-in-turn.js';

/** A process that runs one command of the program after the other. */

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
  const code = await new Promise<number>((resolve, reject) => {
    process.exit = (given) => {
      resolve(Number(given ?? 0));
      return undefined as never;
    };
    runProgram(args, new Terminal(process.stdout, process.stderr)).then(resolve, reject);
  });
  forgetListeners();
  for (const stream of [process.stdout, process.stderr]) stream.write(endMark(code));
});

// What stays: the listener above, and those of Node.
const own: readonly EventEmitter[] = [process, process.stdout, process.stderr];
const listeners = own.map(
  (emitter) => new Map(emitter.eventNames().map((name) => [name, emitter.listeners(name)])),
);
