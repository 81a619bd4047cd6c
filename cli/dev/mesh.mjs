import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { at, say } from './project.mjs';
import './prepare.mjs';

// Runs three nodes on loopback as a mesh with certificates of its own, in a temporary folder, and shows how they stand
// until it is interrupted. The nodes forget everything then. `--nodes N` runs another number of them.
const MAIN = at('dist/cli/main.js');
const STATUS_INTERVAL_MS = 1000;
const START_TRIES = 150;
const START_PAUSE_MS = 200;

const words = process.argv.slice(2);
const count = words[0] === '--nodes' ? Number(words[1]) : 3;
if (!Number.isInteger(count) || count < 2 || count > 20) {
  say('usage: npm run mesh [-- --nodes N], with N from 2 to 20');
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), 'mnemesh-mesh-'));
const nodes = [];
let stopping = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stop(0));

try {
  for (let number = 1; number <= count; number += 1) await add(number);
  say(`\n${count} nodes in ${folder}; Ctrl-C ends them. Try, from another terminal:`);
  const quorum = 'curl -s -X POST -H "content-type: application/json"';
  say(`  ${quorum} -d '{"title":"hello","content":"from node 1"}' ${nodes[0].api}/api/v1/memories`);
  say(`  curl -s "${nodes.at(-1).api}/api/v1/memories?limit=5"`);
  say(`  SVC_HOME=${nodes[0].home} node ${MAIN} mesh status\n`);
  while (!stopping) {
    show(await Promise.all(nodes.map(standing)));
    await pause(STATUS_INTERVAL_MS);
  }
} catch (error) {
  if (!stopping) {
    say(`the mesh could not be formed: ${error.message}`);
    await stop(1);
  }
}

async function add(number) {
  const home = join(folder, `node-${number}`);
  const port = await freePort();
  const url = `https://127.0.0.1:${await freePort()}`;
  const node = { number, home, api: `http://127.0.0.1:${port}`, child: null, err: '' };
  if (number === 1) await command(home, ['mesh', 'init', '--url', url]);
  else {
    const token = (await command(nodes[0].home, ['mesh', 'invite'])).trim();
    await command(home, ['mesh', 'join', '-', '--url', url], token);
  }
  // Who runs them is who asks, so the flags below may be changed by the caller's environment.
  const flags = ['serve', '--port', String(port), '--quorum-writes', '2', '--catchup-interval-secs', '2'];
  node.child = spawn(process.execPath, [MAIN, ...flags], {
    env: environment(home),
    stdio: ['ignore', 'ignore', 'pipe'],
    // A Ctrl-C of the terminal reaches this process alone, which then ends the nodes in order.
    detached: true,
  });
  node.child.stderr.setEncoding('utf8').on('data', (text) => {
    node.err = (node.err + text).slice(-4000);
  });
  nodes.push(node);
  for (let tries = 0; ; tries += 1) {
    if (node.child.exitCode !== null || tries === START_TRIES) throw new Error(`node ${number}: ${node.err}`);
    if ((await standing(node)).listening) break;
    await pause(START_PAUSE_MS);
  }
  say(`node ${number}: ${node.api} for agents, ${url} for peers`);
}

async function standing(node) {
  try {
    const signal = AbortSignal.timeout(2000);
    const status = await (await fetch(`${node.api}/api/v1/mesh/status`, { signal })).json();
    return { number: node.number, ...status };
  } catch {
    return { number: node.number, listening: false };
  }
}

function show(all) {
  const parts = all.map(({ number, listening, peers = [] }) => {
    const reached = peers.filter(({ reachable }) => reachable).length;
    return listening ? `node ${number} up, ${reached}/${peers.length} peers` : `node ${number} down`;
  });
  const line = parts.join(' | ');
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${line}`);
  else if (line !== show.last) say(line);
  show.last = line;
}

async function stop(code) {
  if (stopping) return;
  stopping = true;
  say('\nstopping …');
  await Promise.all(
    nodes.map(({ child }) => {
      if (child.exitCode !== null || child.signalCode !== null) return undefined;
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      return gone;
    }),
  );
  rmSync(folder, { recursive: true, force: true });
  process.exit(code);
}

function command(home, args, input = '') {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [MAIN, ...args], { env: environment(home) });
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

function environment(home) {
  const kept = Object.entries(process.env).filter(([name]) => name !== 'SVC_DB' && name !== 'SVC_KEY_DIR');
  const defaults = { SVC_EMBED_BACKEND: 'none', SVC_LOG_LEVEL: 'warn', SVC_REQUIRE_AGENT_ATTESTATION: '0' };
  return { ...defaults, ...Object.fromEntries(kept), SVC_HOME: home };
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
