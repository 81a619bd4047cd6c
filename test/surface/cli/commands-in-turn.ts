import { type ChildProcess, fork } from 'node:child_process';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

/** What a process that runs commands in turn is asked. */
export interface Asked {
  readonly args: readonly string[];
  readonly env: Record<string, string>;
  readonly stdin: string | Uint8Array;
}

export interface Finished {
  readonly code: number | NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

/** What stands after the output of a command, on both streams. */
export const endMark = (code: number): string => `\0end ${code}\0`;
const END = /\0end (\d+)\0$/;

const SERVER = fileURLToPath(new URL('./command-server.js', import.meta.url));

/** Processes that run no command now. */
const idle: ChildProcess[] = [];

/** Only a command that runs keeps the test's process alive. */
function hold(child: ChildProcess, held: boolean): void {
  const what = held ? 'ref' : 'unref';
  child[what]();
  child.channel?.[what]();
  for (const stream of [child.stdout, child.stderr]) (stream as Socket)[what]();
}

function start(): ChildProcess {
  const child = fork(SERVER, {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    serialization: 'advanced',
    execArgv: [],
  });
  for (const stream of [child.stdout, child.stderr]) stream!.setEncoding('utf8');
  // One that ended says so by `close`.
  child.on('error', () => undefined);
  return child;
}

/** Runs one command to its end, in a process that has run others: commands that run at once have one each. */
export function runInTurn(asked: Asked): {
  readonly finished: Promise<Finished>;
  readonly seen: () => string;
} {
  const child = idle.pop() ?? start();
  hold(child, true);
  const said = { out: '', err: '' };
  const finished = new Promise<Finished>((resolve) => {
    const onOut = (text: string) => take('out', text);
    const onErr = (text: string) => take('err', text);
    const onClose = (code: number | null, signal: NodeJS.Signals | null) =>
      resolve({ code: signal ?? code, ...said });
    const take = (stream: keyof typeof said, text: string) => {
      said[stream] += text;
      const ends = [said.out, said.err].map((all) => END.exec(all)?.[1]);
      if (ends[0] === undefined || ends[1] === undefined) return;
      child.stdout!.off('data', onOut);
      child.stderr!.off('data', onErr);
      child.off('close', onClose);
      hold(child, false);
      idle.push(child);
      resolve({ code: Number(ends[0]), out: said.out.replace(END, ''), err: said.err.replace(END, '') });
    };
    child.stdout!.on('data', onOut);
    child.stderr!.on('data', onErr);
    child.once('close', onClose);
  });
  child.send(asked);
  return { finished, seen: () => said.out + said.err };
}
