import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { at } from './project.mjs';

// Nodes of a mesh as processes of the real command line, for `npm run mesh` and for benchmarks.

/** The built command line. */
export const MAIN = at('dist/cli/main.js');

const START_TRIES = 300;
const START_PAUSE_MS = 100;
const STATUS_TIMEOUT_MS = 2000;
const ERRORS_KEPT = 4000;

/**
 * Makes the homes of a mesh's nodes and starts their daemons, one after the other: the first creates the mesh, the others
 * join it with an invitation, with certificates of its authority.
 */
export class MeshNodes {
  /** `environment(home)` applies to every process; `flags` and `execArgv` to daemons. */
  constructor({ folder, environment, flags, execArgv = () => [], adopt = (child) => child }) {
    Object.assign(this, { folder, environment, flags, execArgv, adopt });
    this.nodes = [];
    this.closing = false;
  }

  /** Adds a node and starts it; resolves when it listens for peers. */
  async add() {
    const number = this.nodes.length + 1;
    const home = join(this.folder, `node-${number}`);
    const node = {
      number,
      home,
      url: `https://127.0.0.1:${await freePort()}`,
      port: await freePort(),
      api: '',
      child: null,
      err: '',
    };
    if (number === 1) await this.command(home, ['mesh', 'init', '--url', node.url]);
    else {
      const token = (await this.command(this.nodes[0].home, ['mesh', 'invite'])).trim();
      await this.command(home, ['mesh', 'join', '-', '--url', node.url], token);
    }
    this.nodes.push(node);
    await this.start(node);
    return node;
  }

  /** Starts a node's daemon, also after a stop; its peers and its callers find it at the same addresses. */
  async start(node) {
    if (this.closing) throw new Error('the mesh is being stopped');
    const { port } = node;
    node.api = `http://127.0.0.1:${port}`;
    node.err = '';
    const argv = [...this.execArgv(node), MAIN, 'serve', '--port', String(port), ...this.flags];
    const child = spawn(process.execPath, argv, {
      env: this.environment(node.home),
      stdio: ['ignore', 'ignore', 'pipe'],
      // A Ctrl-C of the terminal then reaches only the process that started the nodes, which ends them in order.
      detached: true,
    });
    node.child = this.adopt(child);
    child.stderr.setEncoding('utf8').on('data', (text) => {
      node.err = (node.err + text).slice(-ERRORS_KEPT);
    });
    for (let tries = 0; ; tries += 1) {
      if (!isRunning(node) || tries === START_TRIES) {
        throw new Error(`node ${node.number}: ${node.err}`);
      }
      if ((await statusOf(node)).listening) return;
      await new Promise((resolve) => setTimeout(resolve, START_PAUSE_MS));
    }
  }

  /** Ends a node's daemon politely; resolves when it has ended. */
  stop(node) {
    return end(node, 'SIGTERM');
  }

  /** Ends a node's daemon like a crash; resolves when it has ended. */
  kill(node) {
    return end(node, 'SIGKILL');
  }

  /** Ends all daemons; none is started after that. */
  async stopAll() {
    this.closing = true;
    await Promise.all(this.nodes.map((node) => this.stop(node)));
  }

  /** Runs a command of the command line in a home; returns its standard output. */
  command(home, args, input = '') {
    return new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [MAIN, ...args], { env: this.environment(home) });
      let out = '';
      let err = '';
      child.stdout.on('data', (part) => {
        out += part;
      });
      child.stderr.on('data', (part) => {
        err += part;
      });
      child.stdin.on('error', () => undefined);
      child.stdin.end(input);
      child.once('close', (code) => (code === 0 ? resolve(out) : reject(new Error(err))));
    });
  }
}

/** True while a node's process exists. */
export const isRunning = ({ child }) =>
  child !== null && child.exitCode === null && child.signalCode === null;

async function end(node, signal) {
  if (!isRunning(node)) return;
  const gone = new Promise((resolve) => node.child.once('exit', resolve));
  node.child.kill(signal);
  await gone;
}

/**
 * The status of the mesh from a node's daemon (`GET /api/v1/mesh/status`); `{listening: false}` while it does not
 * answer.
 */
export async function statusOf({ api }) {
  try {
    const signal = AbortSignal.timeout(STATUS_TIMEOUT_MS);
    return await (await fetch(`${api}/api/v1/mesh/status`, { signal })).json();
  } catch {
    return { listening: false };
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
