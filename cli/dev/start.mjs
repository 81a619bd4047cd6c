import { at } from './project.mjs';
import './prepare.mjs';

const PARENT_POLL_MS = 1000;

// The node runs in this process, so signals and the exit code need no forwarding. When npm dies without passing a
// signal on, nothing else could end the node: so it ends itself, in good order.
const parent = process.ppid;
setInterval(() => {
  if (process.ppid !== parent) process.kill(process.pid, 'SIGTERM');
}, PARENT_POLL_MS).unref();

const main = at('dist/cli/main.js');
process.argv = [process.argv[0], main, 'serve', ...process.argv.slice(2)];
await import(main);
