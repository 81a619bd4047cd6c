import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { Script } from 'node:vm';
import { LIBRARIES } from './bundle.mjs';
import { codeOf, longFlag, writeStarts } from './code-cache.mjs';
import { say } from './project.mjs';

const THIS = fileURLToPath(import.meta.url);
const WITHIN_MS = 60_000;
const PAUSE_MS = 100;
const NOTE = { title: 'Deploy window', content: 'Sundays, 02:00 to 04:00 UTC', namespace: 'team' };

/**
 * Runs a command, an MCP server and a daemon, whose starts store the code that V8 compiled for them, and writes the starts
 * that use it. Without compiled code everything only starts more slowly.
 */
export async function recordCode(dist) {
  writeStarts(dist, { recording: true });
  const outcomes = await Promise.allSettled(
    [recordCommand, recordMcp, recordDaemon].map((run) => inHome(run, dist)),
  );
  outcomes.push(...(await Promise.allSettled([ended(spawn(process.execPath, [THIS, dist]), 'libraries')])));
  for (const { reason } of outcomes.filter(({ status }) => status === 'rejected'))
    say(`starts will be slower: ${reason.message}`);
  writeStarts(dist, { recording: false });
}

async function inHome(run, dist) {
  const home = mkdtempSync(join(tmpdir(), 'mnemesh-build-'));
  try {
    await run((words, env = {}) => started(dist, home, words, env));
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

function started(dist, home, words, env) {
  const child = spawn(process.execPath, [join(dist, 'cli/main.js'), ...words], {
    env: { ...process.env, SVC_HOME: home, SVC_DB: join(home, 'mnemesh.db'), ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: WITHIN_MS,
  });
  return { child, ended: ended(child, words[0]) };
}

/** Rejects when the process fails, with what it complained of. */
function ended(child, name) {
  let complaint = '';
  child.stderr.on('data', (text) => {
    complaint += text;
  });
  const end = new Promise((resolve, reject) => {
    child.once('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`"${name}" ended with ${code}: ${complaint}`)),
    );
  });
  // Whoever waits for it hears of a failure.
  end.catch(() => undefined);
  return end;
}

async function recordCommand(start) {
  const { child, ended } = start(['recall', 'nothing', '--json'], { SVC_EMBED_BACKEND: 'none' });
  child.stdout.resume();
  await ended;
}

async function recordMcp(start) {
  const { child, ended } = start(['mcp'], { SVC_EMBED_BACKEND: 'none' });
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ask = async (id, method, params) => {
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    await Promise.race([answers.next(), ended]);
  };
  const clientInfo = { name: 'build', version: '1' };
  await ask(1, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`);
  await ask(2, 'tools/list', {});
  await ask(3, 'tools/call', { name: 'memory_store', arguments: NOTE });
  await ask(4, 'tools/call', { name: 'memory_recall', arguments: { context: 'deploy', budget_tokens: 500 } });
  child.stdin.end();
  await ended;
}

async function recordDaemon(start) {
  const port = await freePort();
  // Its note is unsigned.
  const settings = { SVC_EMBED_BACKEND: 'builtin', SVC_REQUIRE_AGENT_ATTESTATION: '0' };
  const { child, ended } = start(['serve', '--port', String(port)], settings);
  child.stdout.resume();
  const api = `http://127.0.0.1:${port}/api/v1`;
  const answer = async (path, options) => {
    const response = await fetch(`${api}${path}`, options);
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return response.json();
  };
  const untilAnswer = async (path, isRight) => {
    for (const endMs = Date.now() + WITHIN_MS; Date.now() < endMs; ) {
      const got = await Promise.race([answer(path).catch(() => null), ended]);
      if (got === undefined || (got !== null && isRight(got))) return;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    throw new Error(`no daemon answered ${path}`);
  };
  try {
    await untilAnswer('/health', ({ status }) => status === 'ok');
    const headers = { 'content-type': 'application/json' };
    await answer('/memories', { method: 'POST', headers, body: JSON.stringify(NOTE) });
    await untilAnswer('/recall?context=deploy&budget_tokens=500', ({ mode }) => mode === 'hybrid');
  } finally {
    // Threads store their code now and then.
    await new Promise((resolve) => setTimeout(resolve, 5 * PAUSE_MS));
    child.kill();
    await ended;
  }
}

function freePort() {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** Stores the code of the libraries that none of these processes loaded, as far as loading them compiles it. */
function recordLibraries(dist) {
  const flag = longFlag();
  if (flag !== null) setFlagsFromString(flag);
  const require = createRequire(join(dist, 'cli/main.js'));
  for (const { file } of LIBRARIES) {
    const code = join(dist, codeOf(file));
    if (existsSync(code)) continue;
    const script = new Script(readFileSync(join(dist, file), 'latin1'));
    const library = script.runInThisContext()(require);
    // Parts of it load when they are asked for.
    for (const name of Object.keys(library)) void library[name];
    writeFileSync(code, script.createCachedData());
  }
}

if (process.argv[1] === THIS) recordLibraries(process.argv[2]);
