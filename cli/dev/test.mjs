import { spawn } from 'node:child_process';
import { at, say } from './project.mjs';
import './prepare.mjs';

// The tests and what they start are a group of processes of their own, which ends as a whole when this one is told to end.
const tests = spawn(process.execPath, [at('cli/dev/run-tests.mjs'), ...process.argv.slice(2)], {
  detached: true,
  stdio: ['ignore', 'inherit', 'inherit'],
});

const endGroup = (signal) => {
  try {
    process.kill(-tests.pid, signal);
  } catch {
    // It has ended.
  }
};

let stopped = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    if (!stopped) say('the tests were stopped');
    stopped = true;
    endGroup('SIGTERM');
    setTimeout(() => endGroup('SIGKILL'), 500);
  });
}

tests.once('exit', (code, signal) => {
  // A process that a test left behind ends too.
  endGroup('SIGKILL');
  process.exit(stopped ? 130 : (code ?? (signal === null ? 1 : 128)));
});
