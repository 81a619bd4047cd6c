import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { isRunning, MAIN, MeshNodes, statusOf } from './mesh-nodes.mjs';
import { say } from './project.mjs';
import './prepare.mjs';

// Runs three nodes on loopback as a mesh with certificates of its own, in a temporary folder, and shows their state
// until it is interrupted. Then the nodes and their data are removed. `--nodes N` runs another number of nodes. Lines
// that are typed or piped in end nodes and start them again: `kill 2`, `stop 2`, `start 2`.
const STATUS_INTERVAL_MS = 1000;
const WHAT_TO_TYPE = 'kill N, stop N or start N';

const words = process.argv.slice(2);
const count = words[0] === '--nodes' ? Number(words[1]) : 3;
if (!Number.isInteger(count) || count < 2 || count > 20) {
  say('usage: npm run mesh [-- --nodes N], with N from 2 to 20');
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), 'mnemesh-mesh-'));
// The user of this script runs it, so environment variables may change the flags.
const flags = ['--quorum-writes', '2', '--catchup-interval-secs', '2'];
const mesh = new MeshNodes({ folder, environment, flags });
let stopping = false;
// Typed commands run in their order, one after the other.
let obeyed = Promise.resolve();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stop(0));

const formed = form();
try {
  await formed;
  const { nodes } = mesh;
  say(`\n${count} nodes in ${folder}; Ctrl-C ends them. Try, from another terminal:`);
  const quorum = 'curl -s -X POST -H "content-type: application/json"';
  say(`  ${quorum} -d '{"title":"hello","content":"from node 1"}' ${nodes[0].api}/api/v1/memories`);
  say(`  curl -s "${nodes.at(-1).api}/api/v1/memories?limit=5"`);
  say(`  SVC_HOME=${nodes[0].home} node ${MAIN} mesh status`);
  say(`Type ${WHAT_TO_TYPE} here, to see what the others do.\n`);
  createInterface({ input: process.stdin }).on('line', obey);
  while (!stopping) {
    show(await Promise.all(nodes.map(async (node) => ({ ...(await statusOf(node)), number: node.number }))));
    await new Promise((resolve) => setTimeout(resolve, STATUS_INTERVAL_MS));
  }
} catch (error) {
  if (!stopping) {
    say(`the mesh could not be formed: ${error.message}`);
    await stop(1);
  }
}

async function form() {
  for (let number = 1; number <= count; number += 1) {
    const { api, url } = await mesh.add();
    say(`node ${number}: ${api} for agents, ${url} for peers`);
  }
}

function obey(line) {
  const text = line.trim();
  if (text === '') return;
  const [, word, number] = /^(kill|stop|start) ([0-9]+)$/.exec(text) ?? [];
  const node = mesh.nodes[Number(number) - 1];
  if (node === undefined) {
    say(`type ${WHAT_TO_TYPE}, with N from 1 to ${count}`);
    return;
  }
  obeyed = obeyed.then(async () => {
    if (stopping) return;
    if (isRunning(node) === (word === 'start'))
      say(`node ${number} is ${word === 'start' ? 'up' : 'down'} already`);
    else await mesh[word](node).catch(({ message }) => say(message));
  });
}

function show(all) {
  const parts = all.map(({ number, listening, peers = [] }) => {
    const reached = peers.filter(({ reachable }) => reachable).length;
    return listening ? `node ${number} up, ${reached}/${peers.length} peers` : `node ${number} down`;
  });
  const line = parts.join(' | ');
  // Only changes are shown, so that they do not disturb what the user is typing.
  if (line !== show.last) say(line);
  show.last = line;
}

async function stop(code) {
  if (stopping) return;
  stopping = true;
  say('\nstopping …');
  await mesh.stopAll();
  // Commands under way start no more nodes.
  await Promise.allSettled([formed, obeyed]);
  rmSync(folder, { recursive: true, force: true });
  process.exit(code);
}

function environment(home) {
  const kept = Object.entries(process.env).filter(([name]) => name !== 'SVC_DB' && name !== 'SVC_KEY_DIR');
  const defaults = { SVC_EMBED_BACKEND: 'none', SVC_LOG_LEVEL: 'warn', SVC_REQUIRE_AGENT_ATTESTATION: '0' };
  return { ...defaults, ...Object.fromEntries(kept), SVC_HOME: home };
}
